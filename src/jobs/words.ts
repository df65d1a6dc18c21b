/** How those who start jobs call what an error or a note tells them to use. */
export interface Words {
  /** An option, like `--rejects <file>`; `value` stands for what follows its name. */
  readonly option: (name: string, value?: string) => string;
  /** What goes on with an unfinished run. */
  readonly goOn: (run: string) => string;
  /** What to do with the rejects of a run, which `file` holds. */
  readonly correct: (job: string, file: string) => string;
  /** What names the state folder. */
  readonly stateFolder: string;
}

/** Of a program that uses the library. */
export const libraryWords: Words = {
  option: (name) => (name === 'noJournal' ? 'no stateFolder' : name),
  goOn: () => 'the same call with resume',
  correct: (job, file) => `${file} says where and why; ${job} them again when they are correct`,
  stateFolder: 'stateFolder',
};
