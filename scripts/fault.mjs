// An expected failure of a script: its message is one line that says what to do next. Any other error is a bug in the script.

export class Fault extends Error {}
