import type { Topic } from './topic.js';

/** A global flag and the variable that stands in for it. */
export interface EnvironmentFlag {
  readonly flags: string;
  readonly variable: string;
  readonly help: string;
}

export const environmentTopic = (flags: readonly EnvironmentFlag[]): Topic => ({
  examples: [
    ['in the place of a flag', 'ENGAGECTL_REGION=local engagectl upload users.csv'],
    ['runs kept elsewhere', 'ENGAGECTL_STATE_DIR=./state engagectl runs list'],
    ['where each value comes from', 'engagectl config show'],
  ],
  parts: [
    'A flag wins over the environment, the environment over the config profile, that over the ' +
      'default. An empty variable counts as unset.',
    {
      heading: 'In the place of flags:',
      rows: flags.map(({ flags, variable, help }) => [variable, `${help} (${flags})`]),
    },
    { heading: 'Credentials, as one unit:', rows: credentials },
    { heading: 'Places:', rows: places },
    { heading: 'Network:', rows: network },
    { heading: 'Terminal and continuous integration:', rows: surroundings },
  ],
});

const credentials = [
  ['ENGAGECTL_ACCOUNT_ID', 'the account id; an id from here never mixes with a saved passcode'],
  ['ENGAGECTL_PASSCODE', 'the passcode'],
  ['ENGAGECTL_PASSCODE_FILE', 'a file that holds it; a newline at its end is dropped'],
] as const;

const places = [
  ['ENGAGECTL_CONFIG_DIR', 'folder of the config file'],
  ['ENGAGECTL_STATE_DIR', 'folder of unfinished runs and of the local service'],
  ['XDG_CONFIG_HOME, XDG_STATE_HOME', 'on Linux, what these folders are made in'],
  ['XDG_CACHE_HOME', 'where newer Nodes keep the compiled program, for a quicker start'],
  ['APPDATA, LOCALAPPDATA', 'on Windows, the same'],
  ['HOME, USERPROFILE', 'where none of these is set'],
  ['TMPDIR', 'where the rows of a CSV to standard output wait for its columns'],
] as const;

const network = [
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'also in small letters; loopback is never proxied'],
  ['NODE_EXTRA_CA_CERTS', 'a file of further certificate authorities'],
  ['NODE_TLS_REJECT_UNAUTHORIZED', '0 is refused: the passcode would go to anybody'],
] as const;

const surroundings = [
  ['NO_COLOR', 'no colours, like --no-color'],
  ['TERM', 'dumb: no colours, no bars'],
  ['COLUMNS', 'width of help; 60 to 120, else that of the terminal'],
  ['GITHUB_ACTIONS', 'true: the first rejects become annotations of the run'],
  ['GITHUB_WORKSPACE', 'folder that the file names in them are relative to'],
  ['GITHUB_STEP_SUMMARY', 'file to which a table of the figures is appended'],
] as const;
