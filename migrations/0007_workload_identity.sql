ALTER TABLE `credentials` ADD `trust` text;--> statement-breakpoint
ALTER TABLE `credentials` ADD `workload` text;