// In place of `events`: an EventEmitter that can also be called without `new`, as xml2js does. CommonJS,
// because xml2js extends what it requires.
const { EventEmitter: Emitter } = require('node:events');

function EventEmitter() {
  if (this) Emitter.call(this);
}
EventEmitter.prototype = Emitter.prototype;

module.exports = EventEmitter;
