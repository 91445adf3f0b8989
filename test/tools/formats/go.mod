module formats

go 1.25
