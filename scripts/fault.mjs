// An expected failure of a script: its message is one line that names the next step. Any other error is a bug in the script.

export class Fault extends Error {}
