// What went wrong in a script, told in a line that says what to do next; any other error is a fault of the script itself.

export class Fault extends Error {}
