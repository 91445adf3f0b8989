// How long a Worker may go on with a call without a word of the gate. In milliseconds.

/** A lease lasts so long for its Worker, counted from when it asked. */
export const LEASE = 7000;
/** For how long the gate holds a question: those of an hour stay under the calls that a request may make. */
export const ROUND = 5000;
