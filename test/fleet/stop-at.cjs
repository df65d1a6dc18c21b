// Loaded before a worker (`node --require`): stops its process (SIGSTOP) at one of its calls, before or after it, as
// ENGAGECTL_STOP_AT says: phase, number of the call, before or after.
const fs = require('node:fs');
const net = require('node:net');

const [phase, count, when] = process.env.ENGAGECTL_STOP_AT.split(' ');
let left = Number(count);

function reached() {
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGSTOP');
}

/** Replaces a function; `isAimed` gets its arguments. */
function aim(object, name, isAimed) {
  const original = object[name];
  object[name] = function (...args) {
    const is = isAimed(...args);
    if (is && when === 'before') reached();
    const result = original.apply(this, args);
    if (!is || when === 'before') return result;
    if (result?.then === undefined) {
      reached();
      return result;
    }
    return result.then((value) => {
      reached();
      return value;
    });
  };
}

/** Bytes of a journal before its lines: the two slots of the synced mark. */
const linesStart = 1024;
const writesLine = (word) => (_file, bytes, _at, _length, position) =>
  Buffer.isBuffer(bytes) && position >= linesStart && bytes.includes(`"${word}"`);
const writesMark = (_file, bytes, _at, _length, position) =>
  Buffer.isBuffer(bytes) && position !== null && position < linesStart;
const textOf = (data) => (Array.isArray(data) ? data.map(({ chunk }) => chunk) : [data]).join('');

const phases = {
  fetch: () => aim(fs, 'openSync', (name) => String(name).endsWith('fleet.json')),
  open() {
    const { promises } = fs;
    aim(promises, 'mkdir', (name) => /epoch-\d+$/.test(name));
    aim(promises, 'copyFile', (_from, to) => /epoch-\d+\.draft/.test(to));
    aim(promises, 'rename', (_from, to) => /epoch-\d+$/.test(to));
  },
  intend: () => aim(fs, 'writeSync', writesLine('intent')),
  send: () =>
    aim(net.Socket.prototype, '_writeGeneric', (_many, data) => textOf(data).includes('POST /1/')),
  commit: () => aim(fs, 'writeSync', writesLine('settlement')),
  mark: () => aim(fs, 'writeSync', writesMark),
};

phases[phase]();
