import type { Words } from '../jobs/words.js';

/** What errors and notes of jobs tell a person to type. */
export const jobWords: Words = {
  option: (name, value) => {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    return value === undefined ? flag : `${flag} ${value}`;
  },
  goOn: (run) => `engagectl runs resume ${run}`,
  correct: (job, file) => `correct ${file}, then: engagectl ${job} ${file}, with the same options`,
  stateFolder: 'ENGAGECTL_STATE_DIR',
};
