/* oxlint-disable max-lines -- a table */

import type { ErrorId } from './errors.js';

/** Explanation of an error id, printed by `engagectl help errors <id>`; its first `next` step is the default fix of an error. */
export interface ErrorExplanation {
  /** The problem, as a clause without a final period. */
  readonly means: string;
  readonly causes: readonly string[];
  /** Commands or actions to try next, the most likely first. */
  readonly next: readonly [string, ...string[]];
}

const account =
  'engagectl config show    (shows the selected account and the source of each value)';
const resume = 'rerun the same command with --resume';
const rerun = 'rerun the same command, unless the error says otherwise';
const restartAdvice = 'rerun the same command with --fresh to start from scratch';

export const errorExplanations = {
  'E-DEFECT': {
    means: 'internal error: a defect in engagectl, not a mistake in your command',
    causes: ['the program reached a state that it does not handle'],
    next: [
      'rerun with --verbose and report the stack trace',
      'engagectl runs list    (lists runs that can be resumed)',
    ],
  },
  'E-USAGE': {
    means: 'invalid command line; nothing was sent',
    causes: [
      'an unknown command or flag, or an invalid value of a flag',
      'a flag that accepts a single value was given twice',
      'flags that exclude each other',
      'an ENGAGECTL_ variable with an invalid value',
    ],
    next: ['engagectl help <command>', 'engagectl help environment'],
  },
  'E-CONFIG': {
    means: 'the configuration selects no account, or contains an invalid value; nothing was sent',
    causes: [
      'there is no config profile, and ENGAGECTL_BASE_URL, ENGAGECTL_ACCOUNT_ID and ENGAGECTL_PASSCODE are not all set',
      'only some of the credential variables are set; they must be set together',
      'an account id or passcode was copied with a leading or trailing space or newline',
    ],
    next: [
      account,
      'engagectl config set --region <name> --base-url <url> --account-id <id>',
      'add --region local to try the command without an account',
    ],
  },
  'E-CONFIG-FILE': {
    means: 'the config file or its directory cannot be used',
    causes: [
      'other users can read it',
      'it belongs to another user, or is writable by a group or others; this also applies to state and data directories',
      'it is damaged',
      'another engagectl process has locked it',
    ],
    next: [
      'chmod 600 "$(engagectl config path)"',
      'for a volume that must be group-writable (fsGroup of Kubernetes): ENGAGECTL_TRUST_GROUP=1',
      'engagectl config path    (prints its location)',
      'remove it and create it again: engagectl config set',
    ],
  },
  'E-REGION': {
    means: 'the region is ambiguous, or the config profile has no such region',
    causes: [
      'the profile has several regions, and none was selected',
      'a misspelled --region or ENGAGECTL_REGION',
    ],
    next: [
      'engagectl config list',
      'select a region: --region <name>',
      'engagectl config use <profile> --region <name>    (selects it permanently)',
    ],
  },
  'E-BASE-URL': {
    means: 'the base URL is invalid',
    causes: [
      'it does not start with https:// (http is allowed for localhost only)',
      'it contains a user name, a query or a fragment',
    ],
    next: [account, 'engagectl config set --region <name> --base-url https://<host>'],
  },
  'E-CONFIRM': {
    means: 'the command needs a confirmation, which was not given; nothing was done',
    causes: [
      'the confirmation did not match',
      'there is no terminal to ask on: a pipe, cron, continuous integration',
    ],
    next: [
      'rerun the same command with --yes to skip the confirmation',
      'rerun the same command with --check    (reads and validates only)',
    ],
  },
  'E-DATE': {
    means: '--from or --to is not a valid date, or --from is later than --to',
    causes: [
      '--from is later than --to',
      'a day that does not exist, such as 2026-02-30',
      'a relative date in an unexpected time zone: see --timezone',
    ],
    next: ['use YYYY-MM-DD, YYYYMMDD, today, yesterday or 7d', 'engagectl help export-events'],
  },
  'E-WEBASSEMBLY': {
    means: 'this machine cannot run the WebAssembly parser',
    causes: [
      'the processor or this build of Node does not support WebAssembly SIMD',
      'a limit on memory or address space (ulimit -v)',
    ],
    next: [
      'ulimit -v unlimited; or keep the limit and run with NODE_OPTIONS=--disable-wasm-trap-handler (needs less address space)',
      'node --version    (20.18.1 or newer)',
    ],
  },
  'E-REJECTED': {
    means: 'the run finished, and some records were rejected by validation or by the service',
    causes: [
      'invalid records; the rejects file has the line and the reason of each',
      '--max-rejects or --strict stopped the run early',
    ],
    next: [
      'correct the rejects file and use it as input of the same command',
      'engagectl upload <file> --check    (validates the input, sends nothing)',
    ],
  },
  'E-NOT-FOUND': {
    means: 'the service has no user with this identifier, or with some of the identifiers',
    causes: [
      'a misspelled identifier',
      'a different kind of identifier: --email, --object-id',
      'a different account or region',
    ],
    next: ['if there are many, see the rejects file', account],
  },
  'E-CALL': {
    means: 'the call was not placed, or ended before it was answered',
    causes: [
      'the receiver declined, missed the call, was busy, or has no microphone',
      'the caller cancelled it',
      'the calling system refused it: calling is disabled, or the cuid is in use on another device',
    ],
    next: ['the last event shows how the call ended', 'engagectl call log --since 1h'],
  },
  'E-SHORT': {
    means: 'some days have fewer records than --min-records; their files were not created',
    causes: [
      'the service does not have all events of that day yet',
      'no events were uploaded on that day',
      'a quiet day, and --min-records is too high',
    ],
    next: ['rerun the same command later with --missing', 'lower --min-records'],
  },
  'E-DIFFERENT': {
    means: 'verify found records that are missing or differ from what was sent',
    causes: [
      'the service has not made the writes visible yet: retry with --within 10m',
      'the upload rejected these records, or they have been changed since',
      'different mapping flags than those of the upload',
      'the service lost records that it had accepted',
    ],
    next: ['compare the lines on standard output: sent and found', account],
  },
  'E-TOO-FEW': {
    means:
      'a pipe ended with fewer records than the mapping file expects; the records that arrived were sent',
    causes: [
      'the program that writes to the pipe ended early',
      'a quiet day, and "min" under "records" is too high',
    ],
    next: [
      'check the program that writes to the pipe, and rerun both',
      'write a file first: a file with too few records is refused before anything is sent',
      'if the input is correct, lower "min" in the mapping file',
    ],
  },
  'E-WARNINGS': {
    means: 'the input has likely mistakes, and --fail-on-warnings makes them an error',
    causes: [
      'dates or numbers are sent as text',
      'a column has nearly the name of a field of the service',
      'values that the service rejects, or texts that stand for missing values',
    ],
    next: [
      'correct the input or the mapping; each warning names the flag',
      'state that a column is as it should be: --types <column>:string, --map <column>=<column>',
      'leave out --fail-on-warnings',
    ],
  },
  'E-CREDENTIALS': {
    means: 'the service refused account id and passcode (401 or 403); the run stopped',
    causes: [
      'the passcode belongs to another region',
      'the passcode was changed',
      'the account lacks permission for this request',
    ],
    next: ['engagectl config check', account, resume],
  },
  'E-UNAVAILABLE': {
    means: 'the service stayed unreachable, failing or throttling after all attempts',
    causes: [
      'an outage of the service or of the network',
      'a proxy between this machine and the service',
      'a timeout that is too short for large requests',
    ],
    next: [
      resume,
      'engagectl config check',
      'retry for longer: --max-attempts, --retry-for, --timeout',
    ],
  },
  'E-PENDING': {
    means: 'the service did not finish preparing the export within --pending-timeout',
    causes: ['a long date range', 'a busy service'],
    next: [resume, 'wait longer: --pending-timeout 2h', 'export fewer days'],
  },
  'E-UNKNOWN': {
    means:
      'it is unknown whether the service processed some records; they are not idempotent (events, demerges, $incr, $decr, $add), so they were not resent',
    causes: [
      'the connection broke after they were sent',
      'the response was unreadable, or a 5xx status',
      'the process was killed after sending them and before recording the response',
    ],
    next: [
      'look up the records of stage "unknown" in the rejects file: engagectl get-profile <identity>',
      'run the command that the error prints, with the rejects file and --retry-unknown    (resends them)',
    ],
  },
  'E-ANSWER': {
    means: 'the response of the service violates its specification',
    causes: [
      'another server answers at this address: a proxy, a login page',
      'the base URL has the wrong path',
      'a cache or proxy answers with events of other days',
      'a redirect; redirects are never followed',
      'the account has no event of this name; names are case-sensitive',
    ],
    next: [
      account,
      'engagectl config check',
      'rerun the same command with --verbose    (prints a line for each request)',
    ],
  },
  'E-CURSOR': {
    means: 'the export cannot continue, because the service sent or refused a cursor unexpectedly',
    causes: [
      'the cursor expired while the export was stopped',
      'the same cursor or the same records were returned twice',
      '1000 consecutive pages contained no new records',
    ],
    next: [restartAdvice, 'export fewer days at once'],
  },
  'E-EXPECTED': {
    means: 'the input does not meet the expectations of the mapping file',
    causes: [
      'the input has a column that is not named, and the file says "columns": "exact"',
      'it has fewer records than "records": {"min": …} requires; it may be truncated',
    ],
    next: ['check the input with its author', 'if the input is correct, change the mapping file'],
  },
  'E-CSV-QUOTE': {
    means:
      'a quote in the CSV is never closed, or may be part of a cell in another dialect, so what follows could be the text of one cell; nothing after it was sent',
    causes: [
      'a cell starts with a quote character that belongs to its text',
      'the file was truncated inside a quoted cell',
      'a quoted cell longer than --max-record-bytes',
      'the program that wrote the file escapes quotes with a backslash, or writes blanks in front of them',
    ],
    next: [
      'close or double the quote on that line, then rerun the same command with --fresh',
      'for profiles and subscriptions: --recover-quotes rejects that line and resumes on the next one',
      'set another quote character, or none: --quote "\'", --quote ""',
      "set the character that escapes quotes: --escape '\\'",
    ],
  },
  'E-HEADER': {
    means: 'a header row of the CSV is invalid; nothing after it was sent',
    causes: [
      'the delimiter is not a comma',
      'a quote inside an unquoted cell',
      'the file has no header row',
      'files with different columns were joined',
    ],
    next: [
      "set the delimiter: --delimiter ';'",
      'correct the first line',
      'separate joined files, and name them one by one',
    ],
  },
  'E-HEADER-DUPLICATE': {
    means: 'two columns have the same name, or are mapped to the same name; nothing was sent',
    causes: [
      'a column appears twice in the header row',
      '--map renames a column to the name of another one',
    ],
    next: ['omit one: --drop <column>', 'rename one: --map <column>=<key>'],
  },
  'E-HEADER-EMPTY': {
    means: 'a column in the header row has no name; nothing was sent',
    causes: ['a delimiter at the end of the header row', 'an empty spreadsheet column'],
    next: ['name the column, or remove it'],
  },
  'E-COLUMN-MISSING': {
    means: 'the header row lacks a required column; nothing was sent',
    causes: [
      'the column has another name',
      'the file belongs to another command',
      'the name differs in upper and lower case',
    ],
    next: ['engagectl upload <file> --identity <column>', 'engagectl help formats'],
  },
  'E-FORMAT': {
    means: 'the input does not have the detected format; nothing from there on was sent',
    causes: [
      'the file extension does not match the content',
      'a spreadsheet file; save it as CSV',
      'JSON with records of several lines (pretty-printed)',
      'UTF-16 without a byte order mark',
    ],
    next: [
      'set the format: --input-format csv|tsv|ndjson|json|list',
      'set the encoding: --encoding <name>',
    ],
  },
  'E-TOO-MANY': {
    means: 'too many records for one run',
    causes: ['a demerge of more than 5 million distinct identities'],
    next: ['split the input into several runs'],
  },
  'E-ALREADY-SENT': {
    means:
      'another run sent the same events, or the same content with demerges or with $incr, $decr or $add, to the same account; none of these records was sent',
    causes: [
      'the same file was uploaded before, or another one with some of its events',
      'a growing log was uploaded without --resume',
      'a copy of it, in the same or another format, was uploaded under another name',
      'the same file was uploaded with options that make other events of it',
    ],
    next: [
      'rerun the same command with --resume to send only what was not sent',
      'rerun the same command with --again to resend everything',
      'engagectl runs list --finished    (lists what was sent, and when)',
    ],
  },
  'E-LEDGER': {
    means:
      'the sent-files ledger or the event memory is damaged or was written by another version, so duplicates cannot be detected; records that are not idempotent were not sent',
    causes: ['a failing disk', 'the file was edited', 'another version of engagectl wrote it'],
    next: [
      'restore the file or directory that the error names, or move it away (then earlier runs are unknown)',
      'if it is the ledger: rerun the same command with --again to send the records anyway',
    ],
  },
  'E-INPUT-CHANGED': {
    means: 'the input has changed since the run began',
    causes: [
      'a part of the file that was already read has changed; lines appended after a final newline are allowed',
      'it changed while it was being read',
      'it changed after fleet submit, which did not copy it (--pin)',
    ],
    next: ['restore the file, then ' + resume, restartAdvice],
  },
  'E-JOURNAL': {
    means: 'the journal of the run is unreadable',
    causes: [
      'it is damaged: a failing disk, or it was edited',
      'another version of engagectl wrote it; that version can resume the run',
    ],
    next: [
      'engagectl runs repair <id>, then --resume    (keeps what the journal proves; the rest is unknown)',
      'engagectl fleet repair <run>    (the same for the shards of a fleet)',
      restartAdvice + '    (sends everything again)',
    ],
  },
  'E-REJECTS-CHANGED': {
    means: 'the rejects file of the unfinished run was changed, and the run would append to it',
    causes: [
      'it was corrected in place before the run finished',
      'another program emptied it during the run, such as logrotate with copytruncate',
    ],
    next: ['restore it, then ' + resume, 'move it away, then ' + restartAdvice],
  },
  'E-RUN-CHANGED': {
    means: 'the options or the files differ from those of the unfinished run',
    causes: [
      'a different option that changes what is sent or written',
      'a different account or region',
      'a partial file was edited',
    ],
    next: ['engagectl runs resume <id>    (uses the original options)', restartAdvice],
  },
  'E-RUN-LOCKED': {
    means: 'another process is working on this run',
    causes: [
      'the same command was started twice',
      'a cron job started before the previous one ended',
      'another process took over the run; this one stops sending and writing',
    ],
    next: [
      'wait until it has finished',
      'add --wait-lock 10m to the command',
      'engagectl runs list',
    ],
  },
  'E-RUN-UNFINISHED': {
    means: 'an earlier run of this command did not finish',
    causes: ['it was interrupted, or ended with exit code 4 to 9'],
    next: [resume, restartAdvice, 'engagectl runs list'],
  },
  'E-RUN-VERSION': {
    means:
      'a run directory was written by another version, copied, renamed or damaged; it may belong to an unfinished run of this command, so nothing was done',
    causes: [
      'a newer version began the run, and an older version is installed now',
      'a failing disk',
      'the directory was edited',
    ],
    next: [
      'resume the run with the version that began it',
      'engagectl runs list    (shows the directory)',
      restartAdvice + ' (the directory is kept)',
    ],
  },
  'E-UNTRUSTED': {
    means:
      'a job of the queue, or a file of the work directory, is not one that a submitter or a worker of this account made; nothing of it was done',
    causes: [
      'somebody else added it or changed it',
      'the passcode of the account is another one than when the run was submitted',
      'a link was put into the work directory',
      'the run lies in a folder that the worker was not given',
    ],
    next: [
      'engagectl fleet submit … once more, as before    (writes and signs the run again; sends nothing twice)',
      'engagectl fleet work --work-dir <dir>    (takes the runs in that folder)',
      'engagectl fleet retry <run>    (puts the jobs back that were refused)',
    ],
  },
  'E-OUTPUT-EXISTS': {
    means: 'the output file already exists',
    causes: [
      'an earlier export wrote it',
      'it was created during the run',
      '--report names a file that is not a report',
    ],
    next: ['replace it: --overwrite', 'use another name: --output <file>, --report <file>'],
  },
  'E-PARTIAL-EXISTS': {
    means: 'a partial file of an earlier export exists, and there is no run that could resume it',
    causes: ['the state directory was emptied or changed (ENGAGECTL_STATE_DIR)'],
    next: [restartAdvice + ' (the partial file is renamed)', 'use another name: --output <file>'],
  },
  'E-FILE-READ': {
    means: 'a local file could not be read',
    causes: [
      'it is missing, is a directory, or you lack permission to read it',
      'compressed data that is truncated or still being written',
      'another program truncated the file while it was being read',
    ],
    next: ['correct its name or its permissions', 'gzip -t <file>', resume],
  },
  'E-INCOMPLETE': {
    means:
      'the input ends in the middle of a record: its last line has no line end and cannot be parsed; with --run-name, any row of a CSV without a line end. All other records were processed; the last one was held back',
    causes: [
      'another program is still writing the file',
      'the program that writes to the pipe was killed',
      'the file was cut off by a full disk or an interrupted download',
    ],
    next: [
      'complete the input, then ' + resume,
      'if the input is complete: rerun the same command with --resume --final',
    ],
  },
  'E-FILE-WRITE': {
    means: 'a local file could not be written; nothing more was sent',
    causes: ['the disk is full', 'missing permissions', 'the state directory is not writable'],
    next: [
      'free disk space, then ' + resume,
      'use another location: --rejects, --output, ENGAGECTL_STATE_DIR',
    ],
  },
  'E-COLUMNS': {
    means: 'the exported records have more distinct members than a CSV can have columns',
    causes: ['property names that contain data: one property per date, order or user'],
    next: [
      'select columns: --columns identity,profileData.City --fresh',
      'export NDJSON, which has no columns: --format ndjson --fresh',
    ],
  },
  'E-INTERRUPTED': {
    means: 'Ctrl-C (SIGINT) stopped the command',
    causes: ['Ctrl-C was pressed', 'a program that uses the library aborted its AbortSignal'],
    next: [rerun, 'engagectl runs list'],
  },
  'E-TERMINATED': {
    means: 'SIGTERM stopped the command',
    causes: ['kill, a time limit, or the shutdown of a container or machine'],
    next: [rerun, 'engagectl runs list'],
  },
  'E-HUNG-UP': {
    means: 'SIGHUP stopped the command',
    causes: [
      'the terminal or its connection was closed',
      'a service manager sent SIGHUP to reload',
    ],
    next: [
      rerun,
      'use tmux, screen or setsid to keep it running without the terminal (nohup has no effect on Node)',
    ],
  },
  'E-STDOUT-CLOSED': {
    means: 'the reader of standard output closed it; the command stopped without a message',
    causes: ['head, or another program that does not read its whole input'],
    next: [
      'nothing, if this was intended',
      'export to a file, which can be resumed: --output <file>',
    ],
  },
} as const satisfies Record<ErrorId, ErrorExplanation>;
