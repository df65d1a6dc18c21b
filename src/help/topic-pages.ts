import { asCalled } from '../wording.js';
import { examplesIn, examplesText, tablesText, wrap, type Example, type Table } from './layout.js';
import { errorNotes, type ErrorNote } from '../error-explanations.js';
import { EngagectlError, errorIds, type ErrorId } from '../errors.js';
import { nearest } from '../did-you-mean.js';

/** What `engagectl help <topic>` prints, and a manual page says; wrapped when it is shown. */
export interface Topic {
  /** Runnable command lines, which every help opens with. */
  readonly examples: readonly Example[];
  /** A string is a paragraph. */
  readonly parts: readonly (string | Table)[];
}

/**
 * What the topics say, but for `errors`. Examples stand first; behind them paragraphs and tables, each
 * after an empty line. A table begins with a line that ends with a colon; in its rows two spaces or
 * more stand between a term and what it means.
 */
export const topicPages = {
  environment: (flags: string) => `
    # in the place of a flag
    ENGAGECTL_REGION=local engagectl upload users.csv
    # runs kept elsewhere
    ENGAGECTL_STATE_DIR=./state engagectl runs list
    # where each value comes from
    engagectl config show

    A flag wins over the environment, the environment over the config profile, that over the
    default. An empty variable counts as unset.

    In the place of flags:
    ${flags}

    Credentials, as one unit:
    ENGAGECTL_ACCOUNT_ID     the account id; an id from here never mixes with a saved passcode
    ENGAGECTL_PASSCODE       the passcode
    ENGAGECTL_PASSCODE_FILE  a file that holds it; a newline at its end is dropped

    Credentials of the calling system, likewise:
    ENGAGECTL_CALL_ACCOUNT_ID    the calling account id
    ENGAGECTL_CALL_API_KEY       its API key
    ENGAGECTL_CALL_API_KEY_FILE  a file that holds it

    Set for the command of serve --push-hook:
    ENGAGECTL_PUSH_CUID       who is called
    ENGAGECTL_PUSH_DEVICE_ID  the device that is not connected
    ENGAGECTL_PUSH_CALL_ID    the call

    Places:
    ENGAGECTL_CONFIG_DIR             folder of the config file
    ENGAGECTL_STATE_DIR              folder of unfinished runs and of the local service
    XDG_CONFIG_HOME, XDG_STATE_HOME  on Linux, what these folders are made in
    APPDATA, LOCALAPPDATA            on Windows, the same
    HOME, USERPROFILE                where none of these is set
    XDG_CACHE_HOME                   where newer Nodes keep the compiled program, for a quicker start
    TMPDIR                           where the rows of a CSV to standard output wait for its columns

    Several machines:
    ENGAGECTL_QUEUE            of a fleet: redis://… or postgres://…
    JOB_COMPLETION_INDEX       --shard auto under Kubernetes: which part, from 0 on
    AWS_BATCH_JOB_ARRAY_INDEX  the same under AWS Batch
    AWS_BATCH_JOB_ARRAY_SIZE   and how many parts
    SLURM_ARRAY_TASK_ID        the same under Slurm
    SLURM_ARRAY_TASK_COUNT     and how many parts
    SLURM_ARRAY_TASK_MIN       the number of the first
    SLURM_ARRAY_TASK_STEP      from one number to the next
    CLOUD_RUN_TASK_INDEX       the same under Cloud Run
    CLOUD_RUN_TASK_COUNT       and how many parts

    Network:
    HTTPS_PROXY, HTTP_PROXY, NO_PROXY  also in small letters; loopback is never proxied
    NODE_EXTRA_CA_CERTS                a file of further certificate authorities
    NODE_TLS_REJECT_UNAUTHORIZED       0 is refused: the passcode would go to anybody

    Terminal and continuous integration:
    NO_COLOR             no colours, like --no-color
    FORCE_COLOR          colours also where there is no terminal
    CLICOLOR_FORCE       the same
    ENGAGECTL_FORCE_TTY  what goes out is as for a terminal, wherever it goes; a number: of so many columns
    CI                   nothing is drawn: plain lines now and then
    ENGAGECTL_NO_INPUT   nothing is asked, like --no-input
    TERM                 dumb: no colours, no bars
    COLUMNS              width of help; 60 to 120, else that of the terminal
    GITHUB_ACTIONS       true: the first rejects become annotations of the run
    GITHUB_WORKSPACE     folder that the file names in them are relative to
    GITHUB_STEP_SUMMARY  file to which a table of the figures is appended
  `,
  'exit-codes': `
    # what a script does with it
    engagectl upload users.csv --quiet || echo "exit code $?"
    # what leads to one
    engagectl help errors E-UNAVAILABLE

    Scripts may branch on these numbers: they never change their meaning. Treat a number that is
    not listed as a failure.

    Exit codes:
    0    everything done and accounted for
    1    a defect in the program
    2    wrong usage or configuration; nothing was sent
    3    finished; some records were rejected, not found, or fewer than expected
    4    the service refused the credentials
    5    the service stayed unreachable, failing or pending after all attempts
    6    records whose outcome is unknown are in the rejects file
    7    the service broke the protocol
    8    input, journal or existing output refused before anything was sent
    9    a local file could not be read or written
    129  interrupted by SIGHUP: the terminal was closed
    130  interrupted by SIGINT (Ctrl-C)
    141  standard output was closed by its reader
    143  interrupted by SIGTERM

    When several apply, the most serious one wins: 6, then 130, 143 or 129, 7, 9, 4, 5, 3. After 4, 5,
    9, 129, 130 and 143 the same command with --resume goes on; so it does after 6, for what is
    known.
  `,
  formats: `
    # what is read, and what is wrong with it
    engagectl upload users.csv --check
    # other column names, types
    engagectl upload crm.csv --identity CustomerId --map mail=Email --types Age:integer
    # not RFC 4180
    engagectl upload semicolons.txt --input-format csv --delimiter ';' --encoding windows-1252
    # a table
    engagectl export-events --event Charged --from 7d --to today -o charged.csv

    What an input is, --input-format says, else its name, else its content. Gzip is recognised by
    content, UTF-8 and UTF-16 by their byte order mark; other encodings need --encoding.

    Input:
    .csv, .tsv       RFC 4180 with a header line; for other dialects --delimiter, --quote, --escape, --comment
    .ndjson, .jsonl  one JSON object a line; numbers are passed on as they are written
    .json            one array of such objects
    list             one value a line, for subscribe, demerge and get-profile

    Columns of profiles:
    identity    who it is; another column with --identity, or --object-id
    all others  profile data of the same name; --map, --drop and --only choose
    MSG-…       boolean, so that an opt-out never goes out as text

    Columns of events (--type event):
    identity, ts, evtName  who, when (epoch seconds or ISO 8601), what (or --event-name)
    all others             event properties

    Types (--types <column>:<type>):
    string           the default
    integer, number  with every digit as it is written
    boolean          true, false, 1, 0, yes, no, in any case
    date             ISO 8601 or epoch seconds
    json             any JSON value
    phone:+91        phone numbers of this country code

    A cell that does not fit its type rejects its record, and the rejects file says why. Empty
    cells are left out; --empty null or string sends them. For wide files all of this goes into a
    JSON file for --mapping:
    {"identity":"Id","map":{"mail":"Email"},"types":{"Age":"integer"},"drop":["Note"]}

    It may expect something of the input, too. What is otherwise is rejected, or the run refused
    (E-EXPECTED, exit code 8); of a pipe that ends too early, what came is sent (E-TOO-FEW, 3).

    Expectations:
    "required":["mail"]          columns with a value in every row
    "columns":"exact"            no columns but those that the file names
    "records":{"min":1000}       fewer records are too few
    "values":{"Plan":["a","b"]}  the values of a column, besides none

    --preview --write-mapping <file> drafts such a file from the data.

    Output of exports, by the name of --output or by --format:
    .ndjson  each record byte for byte as the service sent it; the default
    .csv     dotted columns (profileData.City), arrays as JSON; --columns chooses, --bom for Excel
    .json    one array
    .gz      behind any of these: compressed
  `,
  resume: `
    # what did not finish
    engagectl runs list
    # go on with it, or start
    engagectl upload users.csv --resume
    # forget it, and start
    engagectl upload users.csv --fresh
    # forget the old ones
    engagectl runs prune --older-than 30d

    A run that did not finish (killed, interrupted, disk full, service away) goes on with
    --resume, given to the same command, or with engagectl runs resume <id> from any folder. It
    ends as a run that nothing disturbed would have ended. Where nothing is unfinished, --resume
    starts afresh, so that a cron job may always carry it.

    What happened, and what to do:
    killed, power cut  what was settled is on the disk: --resume
    129, 130, 143      requests in flight got up to 10 s to finish: --resume
    4, 5               --resume when account or service work again
    9                  free space, then --resume
    6                  never sent again by itself: see stage "unknown" in the rejects file
    8                  input, options or files are not those of the run: restore them, or --fresh
    7, cursor          an expired cursor: --fresh starts the export again

    Flags:
    --resume         go on with the unfinished run; without one, start
    --fresh          forget it and start anew; of an export, set its partial file aside
    --no-journal     keep nothing to resume from, where no folder can be written
    --retry-unknown  send records of unknown outcome again, knowingly

    Records that do harm when sent twice (events, demerges, $incr, $decr, $add) are noted before
    they are sent; those without an outcome count as unknown. Not resumed: input from a pipe
    (records not sent are in the rejects file), output to standard output, --check, --dry-run.

    Runs are kept in the state folder (engagectl help environment), readable by you only; a
    finished one leaves nothing there.
  `,
  security: `
    # from a file
    engagectl config set --region eu1 --passcode-file passcode.txt
    # from a mounted secret
    ENGAGECTL_ACCOUNT_ID=ACC-1 ENGAGECTL_PASSCODE_FILE=passcode.txt engagectl config check
    # never the passcode itself
    engagectl config show

    Passcodes:
    given by  config set (asks without echo), --passcode-stdin, --passcode-file
    or by     ENGAGECTL_PASSCODE_FILE, else ENGAGECTL_PASSCODE, for jobs; never by a flag
    or by     the command of a secret store: config set --passcode-command
    kept in   the config file, 0600 in a folder of 0700; a looser mode is refused
    and       the API key of the calling system: config set --call-api-key-file
    shown     nowhere: not in output, errors, logs, journals, rejects, process arguments

    Network:
    address        the one you configured and nothing else: no telemetry, no update check
    https only     but to loopback; redirects are never followed
    local service  loopback only, with a passcode made for it

    Files:
    private       rejects files, partial outputs, journals: 0600, as they hold personal data
    formulas      cells that a spreadsheet would run are counted; --csv-formulas escape
    foreign text  is made harmless before a terminal shows it

    People in messages, logs, reports, annotations:
    shortened  identities, emails, phone numbers: ada…, +9198…; file and line stand beside them
    whole      with --show-pii; in rejects files and outputs, on standard output, and what you typed

    Logs:
    -v          each request: when, where, which records, what came of it
    -vv         its headers and sizes, too, without secrets: those that differ from the request before
    --log-file  all that -v tells, with --quiet too; 0600, appended to; --log-format json makes it objects

    Writes with a config profile marked production (config set --production) ask on a terminal. A
    demerge asks for its count to be typed; without a terminal it needs --yes.
  `,
};

/** A topic from how its page is written. */
export function topicIn(page: string): Topic {
  const [examples = '', ...parts] = page.split(/\n *\n/);
  return { examples: examplesIn(examples), parts: parts.map(partIn) };
}

function partIn(text: string): string | Table {
  const [first = '', ...others] = text
    .trim()
    .split('\n')
    .map((line) => line.trim());
  if (!first.endsWith(':')) return [first, ...others].join(' ');
  const rows = others.map((row) => row.split(/ {2,}/) as [term: string, meaning: string]);
  return { heading: first, rows };
}

/** A topic as text, no wider than `width` columns where it can be broken. */
export function topicText(topic: Topic, width: number, program: string): string {
  const { examples, parts } = called(topic, program);
  const opening = examples.length > 0 ? [examplesText(examples, width)] : [];
  const texts = parts.flatMap((part) =>
    typeof part === 'string' ? `${wrap(part, width).join('\n')}\n` : tablesText([part], width),
  );
  return [...opening, ...texts].join('\n');
}

/** Its command lines by the name that the program was called by. */
function called({ examples, parts }: Topic, program: string): Topic {
  const by = (text: string) => asCalled(text, program);
  return {
    examples: examples.map(([what, line]) => [what, by(line)]),
    parts: parts.map((part) =>
      typeof part === 'string'
        ? by(part)
        : { ...part, rows: part.rows.map(([term, meaning]) => [by(term), by(meaning)] as const) },
    ),
  };
}

/** One id explained, or all of them listed. Throws E-USAGE for an id that does not exist. */
export const errorsTopic = (id: string | undefined): Topic =>
  id === undefined ? listTopic() : explained(idOf(id));

const ids = Object.keys(errorIds) as ErrorId[];
const longestId = Math.max(...ids.map((id) => id.length));

const listTopic = (): Topic => ({
  examples: [
    ['one of them', 'engagectl help errors E-UNAVAILABLE'],
    ['the numbers', 'engagectl help exit-codes'],
  ],
  parts: [
    'An error says what happened to which thing, why, and what to type next. Its id never changes ' +
      'its meaning.',
    ...[...new Set(Object.values(errorIds))].map((code) => ({
      heading: `Exit code ${code}:`,
      rows: ids
        .filter((id) => errorIds[id] === code)
        .map((id) => [id.padEnd(longestId), errorNotes[id].means] as const),
    })),
  ],
});

function explained(id: ErrorId): Topic {
  const { means, causes, next }: ErrorNote = errorNotes[id];
  return {
    examples: [],
    parts: [
      `${id}, exit code ${errorIds[id]}: ${means}.`,
      { heading: 'Usual causes:', rows: listed(causes) },
      { heading: 'What to do next:', rows: listed(next) },
    ],
  };
}

const listed = (lines: readonly string[]) => lines.map((line) => ['-', line] as const);

/** In any case, with or without `E-`. */
function idOf(text: string): ErrorId {
  const wanted = `E-${text.toUpperCase().replace(/^E-/, '')}`;
  const found = ids.find((id) => id === wanted);
  if (found !== undefined) return found;
  const begun = ids.filter((id) => id.startsWith(wanted));
  const like = begun.length > 0 ? begun : [nearest(wanted, ids) ?? []].flat();
  const near = like.map((id) => `engagectl help errors ${id}`);
  throw new EngagectlError('E-USAGE', `there is no error "${text}"`, {
    why: 'no error message bears such an id',
    fix: near.length > 0 ? `did you mean: ${near.join(', ')}` : 'engagectl help errors',
  });
}
