/* oxlint-disable max-lines -- a table */

import type { ErrorId } from './errors.js';

/** What `engagectl help errors <id>` says, and what an error says that knows no more. */
export interface ErrorNote {
  /** What happened, in one sentence. */
  readonly means: string;
  readonly causes: readonly string[];
  /** What to type or do next, the likeliest first. */
  readonly next: readonly [string, ...string[]];
}

const account =
  'engagectl config show    (the account a command would use, and where each value comes from)';
const goOn = 'the same command with --resume goes on';
const again = 'run the same command again; a run from files goes on with --resume';
const fresh = 'the same command with --fresh starts anew';

export const errorNotes = {
  'E-DEFECT': {
    means: 'a defect in engagectl, not in what you typed',
    causes: ['the program met something that nobody foresaw'],
    next: [
      'run it again with --verbose and report the trace',
      'engagectl runs list    (a run that was begun can go on)',
    ],
  },
  'E-USAGE': {
    means: 'the command line is wrong; nothing was sent',
    causes: [
      'an unknown command or flag, or a value that does not fit its flag',
      'a flag that takes one value was given twice',
      'flags that exclude each other',
      'a variable ENGAGECTL_… with a value that would not fit its flag',
    ],
    next: ['engagectl help <command>', 'engagectl help environment'],
  },
  'E-CONFIG': {
    means:
      'the configuration does not say which account to use, or a value in it cannot be used; nothing was sent',
    causes: [
      'no config profile, and not all of ENGAGECTL_BASE_URL, ENGAGECTL_ACCOUNT_ID and ENGAGECTL_PASSCODE are set',
      'half of the credentials is in the environment: they count only together',
      'a copied account id or passcode with a newline or a space at its edge',
    ],
    next: [
      account,
      'engagectl config set --region <name> --base-url <url> --account-id <id>',
      'add --region local to try the command without an account',
    ],
  },
  'E-CONFIG-FILE': {
    means: 'a file or folder of the configuration cannot be used',
    causes: ['others may read it', 'it is damaged', 'another engagectl holds its lock'],
    next: [
      'chmod 600 "$(engagectl config path)"',
      'engagectl config path    (where it is)',
      'remove it and set it up again: engagectl config set',
    ],
  },
  'E-REGION': {
    means: 'it is not clear which region is meant, or the config profile has no such region',
    causes: [
      'the profile has several regions, and none was named',
      'a misspelt --region or ENGAGECTL_REGION',
    ],
    next: [
      'engagectl config list',
      'name one with --region <name>',
      'engagectl config use <profile> --region <name>    (chooses one for good)',
    ],
  },
  'E-BASE-URL': {
    means: 'the base URL cannot be used',
    causes: [
      'it does not begin with https:// (http is for this machine only)',
      'it holds a user name, a query or a fragment',
    ],
    next: [account, 'engagectl config set --region <name> --base-url https://<host>'],
  },
  'E-CONFIRM': {
    means: 'the command asks before it does harm, and nobody agreed; nothing was done',
    causes: [
      'something else than the number was typed',
      'nobody can be asked: a pipe, cron, continuous integration',
    ],
    next: [
      'the same command with --yes, when you are sure',
      'the same command with --check    (reads and validates only)',
    ],
  },
  'E-DATE': {
    means: 'a date of --from or --to is impossible, or the range runs backwards',
    causes: [
      '--from lies after --to',
      'a day that no calendar has',
      'a relative date in another time zone than meant: --timezone',
    ],
    next: ['use YYYY-MM-DD, YYYYMMDD, today, yesterday or 7d', 'engagectl help export-events'],
  },
  'E-WEBASSEMBLY': {
    means: 'this machine cannot run the part of the program that reads text',
    causes: [
      'a processor, or a Node that was built, without WebAssembly SIMD',
      'a limit of memory, or of address space (ulimit -v)',
    ],
    next: [
      'ulimit -v unlimited; or leave the limit: NODE_OPTIONS=--disable-wasm-trap-handler takes less address space',
      'node --version    (20.18.1 or newer)',
    ],
  },
  'E-REJECTED': {
    means: 'the run is over, and some records were rejected: by a local rule or by the service',
    causes: [
      'records that break a rule; each has its line and reason in the rejects file',
      '--max-rejects or --strict stopped the run early',
    ],
    next: [
      'correct the rejects file and give it to the same command as input',
      'engagectl upload <file> --check    (finds what local rules reject, sends nothing)',
    ],
  },
  'E-NOT-FOUND': {
    means: 'the service knows no user by this identifier, or by some of them',
    causes: [
      'a misspelt identifier',
      'another kind of identifier: --email, --object-id',
      'another account or region',
    ],
    next: ['see the rejects file, where there were many', account],
  },
  'E-CALL': {
    means: 'the call was not placed, or came to another end than after talking',
    causes: [
      'the receiver declined, missed it, was busy or has no microphone',
      'the caller cancelled it',
      'the calling system refused it: calling is off, or the cuid is in use elsewhere',
    ],
    next: ['the last event says how it ended', 'engagectl call log --since 1h'],
  },
  'E-SHORT': {
    means: 'days have fewer records than --min-records asks for; their files are not in place',
    causes: [
      'the service does not have all events of that day yet',
      'nothing was sent to it on that day',
      'a quiet day, and a number that is too high',
    ],
    next: ['the same command with --missing, later', 'a lower --min-records'],
  },
  'E-DIFFERENT': {
    means: 'verify read back something else than was sent, or did not find it',
    causes: [
      'reads lag behind writes: look again with --within 10m',
      'the upload rejected these records, or somebody changed them since',
      'other mapping flags than those of the upload',
      'the service did not keep what it accepted',
    ],
    next: ['see the lines on standard output: what was sent, and what was found', account],
  },
  'E-TOO-FEW': {
    means:
      'a pipe ended with fewer records than the mapping file expects; those that came were sent',
    causes: [
      'what writes into the pipe ended early',
      'a quiet day, and a "min" under "records" that is too high',
    ],
    next: [
      'look at what writes into the pipe, and run both again',
      'write a file first: one with too few records is refused whole',
      'correct "min" in the mapping file, where the input is right',
    ],
  },
  'E-CREDENTIALS': {
    means: 'the service refused account id and passcode (401 or 403); it stopped at once',
    causes: [
      'the right passcode in the wrong region',
      'a passcode that was changed',
      'an account without the right to do this',
    ],
    next: ['engagectl config check', account, goOn],
  },
  'E-UNAVAILABLE': {
    means: 'the service stayed unreachable, failing or throttling after all attempts',
    causes: [
      'an outage of the service or of the network',
      'a proxy in between',
      'a time-out that is too short for large requests',
    ],
    next: [
      goOn,
      'engagectl config check',
      'give it more time: --max-attempts, --retry-for, --timeout',
    ],
  },
  'E-PENDING': {
    means: 'the service was still preparing the export when the time to wait was over',
    causes: ['a large range of days', 'a busy service'],
    next: [goOn, 'wait longer: --pending-timeout 2h', 'ask for fewer days'],
  },
  'E-UNKNOWN': {
    means:
      'no answer told whether the service processed some records; they do harm when sent twice (events, demerges, $incr, $decr, $add), so they were not sent again',
    causes: [
      'a connection that broke after they were sent',
      'an answer that cannot be read, or 5xx',
      'a kill between sending them and noting the answer',
    ],
    next: [
      'look the records of stage "unknown" up in the rejects file: engagectl get-profile <identity>',
      'give the rejects file to the same command with --retry-unknown    (sends them knowingly)',
    ],
  },
  'E-ANSWER': {
    means: 'the service answered in a way that its description does not allow',
    causes: [
      'something else listens at this address: a proxy, a login page',
      'the base URL has a wrong path',
      'a redirect, which is never followed',
      'an event that the account does not have: names are case-sensitive',
    ],
    next: [
      account,
      'engagectl config check',
      'the same command with --verbose    (a line about each request)',
    ],
  },
  'E-CURSOR': {
    means: 'the service sent or refused a cursor in a way that the export cannot go on from',
    causes: [
      'the cursor expired while the export stood still',
      'the same cursor, or the same records, came twice',
      '1000 pages in a row held no new records',
    ],
    next: [fresh, 'ask for fewer days at once'],
  },
  'E-EXPECTED': {
    means: 'the input is not what the mapping file expects of it',
    causes: [
      'a column came in that "columns": "exact" does not name',
      'it has fewer records than "records": {"min": …} asks for: it was cut short',
    ],
    next: ['ask who made the input', 'correct the mapping file, where the input is right'],
  },
  'E-CSV-QUOTE': {
    means:
      'a quote of a CSV is never closed, so everything behind it could be the text of one cell; nothing behind it was sent',
    causes: [
      'a cell that begins with a quote which belongs to the text',
      'a file that was cut within a quoted cell',
      'a quoted cell longer than --max-record-bytes',
    ],
    next: [
      'close the quote on the line that is named, or double it; then run the same command with --fresh',
      'for profiles and subscriptions: --recover-quotes rejects that line and resumes on the next one',
      'name the quote character, or that there is none: --quote "\'", --quote ""',
    ],
  },
  'E-HEADER': {
    means: 'the header line of a CSV cannot be used; nothing was sent',
    causes: [
      'another delimiter than the comma',
      'a quote inside a cell that is not quoted',
      'a file without a header line',
    ],
    next: ["name the delimiter: --delimiter ';'", 'correct the first line'],
  },
  'E-HEADER-DUPLICATE': {
    means: 'two columns have the same name, or would be sent under the same name; nothing was sent',
    causes: [
      'a column that appears twice in the header',
      '--map that gives a column the name of another one',
    ],
    next: ['leave one out: --drop <column>', 'rename one: --map <column>=<key>'],
  },
  'E-HEADER-EMPTY': {
    means: 'a column of the header has no name; nothing was sent',
    causes: ['a delimiter at the end of the header', 'an empty column of a spreadsheet'],
    next: ['name the column, or remove it'],
  },
  'E-COLUMN-MISSING': {
    means: 'the header lacks a column that the command needs; nothing was sent',
    causes: [
      'the column has another name',
      'the file is for another command',
      'upper and lower case differ',
    ],
    next: ['engagectl upload <file> --identity <column>', 'engagectl help formats'],
  },
  'E-FORMAT': {
    means: 'the input is not of the format it was taken for; nothing was sent',
    causes: [
      'an extension that does not fit the content',
      'a spreadsheet, which holds no text: save it as CSV',
      'UTF-16 without a byte order mark',
    ],
    next: [
      'name the format: --input-format csv|tsv|ndjson|json|list',
      'name the encoding: --encoding <name>',
    ],
  },
  'E-TOO-MANY': {
    means: 'more records than one run can keep apart',
    causes: ['a demerge of more than 5 million different identities'],
    next: ['split the input into several runs'],
  },
  'E-ALREADY-SENT': {
    means:
      'another run sent the same content to the same account, and it does harm when it is sent twice (events, demerges, profiles with $incr, $decr or $add); nothing was sent',
    causes: [
      'the same file was given a second time',
      'a log that grows was given without --resume',
      'a copy of it, or its compressed form, was sent under another name',
    ],
    next: [
      'the same command with --resume sends what was added, and else nothing',
      'the same command with --again sends all of it once more',
      'engagectl runs list --finished    (what was sent, and when)',
    ],
  },
  'E-LEDGER': {
    means:
      'the ledger of finished runs is damaged, or of a newer version, so that nobody can tell whether records which do harm when sent twice were sent before; they were not sent now',
    causes: ['a damaged disk', 'the file was edited', 'a newer version of engagectl wrote it'],
    next: [
      'put ledger.ndjson in the state folder back as it was, or move it away: then nothing is known of earlier runs',
      'the same command with --again sends the records knowingly',
    ],
  },
  'E-INPUT-CHANGED': {
    means: 'the input is not what it was when the run began',
    causes: [
      'the file was changed before the end of what was read; text added behind a final newline is fine',
      'it was changed while it was read',
    ],
    next: ['restore the file, then: ' + goOn, fresh],
  },
  'E-JOURNAL': {
    means: 'the journal of the run cannot tell how far the run came',
    causes: [
      'it is damaged: a failing disk, or somebody edited it',
      'another version of engagectl wrote it; nothing is lost: that version goes on with it',
    ],
    next: [fresh, 'engagectl runs show <id>'],
  },
  'E-REJECTS-CHANGED': {
    means:
      'the rejects file of the run was changed since, and the rest of the run would be added to it',
    causes: ['it was corrected in its place before the run was over'],
    next: ['restore it, then: ' + goOn, 'move it away, then: ' + fresh],
  },
  'E-RUN-CHANGED': {
    means:
      'what was asked for differs from what the unfinished run was begun with, or its files do',
    causes: [
      'another option that changes what is sent or written',
      'another account or region',
      'a partial file that was edited',
    ],
    next: ['engagectl runs resume <id>    (goes on with the options it was begun with)', fresh],
  },
  'E-RUN-LOCKED': {
    means: 'another process is working on this run',
    causes: [
      'the same command was started twice',
      'a cron job that begins before the last one ended',
      'another process took the run over; this one then sends and writes nothing more',
    ],
    next: ['wait until it is done', 'engagectl runs list'],
  },
  'E-RUN-UNFINISHED': {
    means: 'an earlier run of this command did not finish',
    causes: ['it was interrupted, or ended with one of the exit codes 4 to 9'],
    next: [goOn, fresh, 'engagectl runs list'],
  },
  'E-RUN-VERSION': {
    means:
      'a run folder is of another version, was copied or renamed, or its header is damaged; it may hold an unfinished run of this command, so nothing was done',
    causes: [
      'a newer version began the run, and an older one was put in its place',
      'a failing disk',
      'somebody edited it',
    ],
    next: [
      'go on with the version that began the run',
      'engagectl runs list    (names the folder)',
      fresh + ', and leaves the folder where it is',
    ],
  },
  'E-OUTPUT-EXISTS': {
    means: 'the output file exists already',
    causes: [
      'an earlier export wrote it',
      'it appeared during the run',
      '--report names a file that is no report',
    ],
    next: ['replace an output: --overwrite', 'name another one: --output <file>, --report <file>'],
  },
  'E-PARTIAL-EXISTS': {
    means:
      'a partial file of an earlier export is in the way, and no run is known that could go on with it',
    causes: ['the state folder was emptied, or is another one: ENGAGECTL_STATE_DIR'],
    next: [fresh + ', and sets the partial file aside', 'name another one: --output <file>'],
  },
  'E-FILE-READ': {
    means: 'a local file could not be read',
    causes: [
      'it is missing, a directory, or not yours to read',
      'gzip data that was cut or is still being written',
      'another program cut the file while it was read',
    ],
    next: ['correct the name or its rights', 'gzip -t <file>', goOn],
  },
  'E-FILE-WRITE': {
    means: 'a local file could not be written; nothing more was sent',
    causes: ['a full disk', 'missing rights', 'a state folder that cannot be written'],
    next: [
      'make room, then: ' + goOn,
      'name another place: --rejects, --output, ENGAGECTL_STATE_DIR',
    ],
  },
  'E-COLUMNS': {
    means: 'the records of an export have more different members than a CSV can have columns',
    causes: ['values in place of names: a property for each date, order or user'],
    next: [
      'name the columns that are wanted: --columns identity,profileData.City --fresh',
      'write NDJSON, which has no columns: --format ndjson --fresh',
    ],
  },
  'E-INTERRUPTED': {
    means: 'Ctrl-C (SIGINT) stopped the command',
    causes: [
      'somebody pressed Ctrl-C, once or twice',
      'a program that uses the library aborted the signal',
    ],
    next: [again, 'engagectl runs list'],
  },
  'E-TERMINATED': {
    means: 'SIGTERM stopped the command',
    causes: ['kill, a time limit, a container or a machine that was shut down'],
    next: [again, 'engagectl runs list'],
  },
  'E-HUNG-UP': {
    means: 'SIGHUP stopped the command',
    causes: [
      'the terminal or its connection was closed',
      'a service manager that reloads by SIGHUP',
    ],
    next: [
      again,
      'tmux, screen or setsid keep it when the terminal goes; nohup does not: Node undoes it',
    ],
  },
  'E-STDOUT-CLOSED': {
    means: 'the reader of standard output closed it; the work stopped at once, without a message',
    causes: ['head, or another program in the pipe that had enough'],
    next: ['nothing, if that was meant', 'write to a file, which can be resumed: --output <file>'],
  },
} as const satisfies Record<ErrorId, ErrorNote>;
