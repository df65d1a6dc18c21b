// Figures of a running process from the operating system.
import { readFileSync } from 'node:fs';

/** Processor time of the process until now; Linux only, else NaN. */
export function processorSeconds(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

/** Bytes of memory of its own the process holds now; Linux only, else NaN. */
export function anonymousBytes(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}
