import { withProgramName } from '../wording.js';
import {
  parseExamples,
  renderExamples,
  renderTables,
  wrap,
  type Example,
  type Table,
} from './layout.js';
import { errorExplanations, type ErrorExplanation } from '../error-explanations.js';
import { EngagectlError, errorIds, type ErrorId } from '../errors.js';
import { closestName } from '../did-you-mean.js';

/** Contents of `engagectl help <topic>` and of its manual page; wrapped when printed. */
export interface Topic {
  /** Runnable command lines, printed first. */
  readonly examples: readonly Example[];
  /** A string is a paragraph. */
  readonly parts: readonly (string | Table)[];
}

/**
 * Pages of all topics except `errors`. Examples come first, then paragraphs and tables, separated by
 * empty lines. A table starts with a line that ends with a colon; each row is a term and its meaning,
 * separated by at least two spaces. `{flags}` in `environment` stands for a row for each flag.
 */
export const topicPages = {
  environment: `
    # set a flag through its variable
    ENGAGECTL_REGION=local engagectl upload users.csv
    # keep runs in another directory
    ENGAGECTL_STATE_DIR=./state engagectl runs list
    # show where each value comes from
    engagectl config show

    Flags override the environment, the environment overrides the config profile, and the config
    profile overrides defaults. An empty variable counts as unset.

    Instead of flags:
    {flags}

    Credentials (set them together):
    ENGAGECTL_ACCOUNT_ID     account id; never combined with a saved passcode
    ENGAGECTL_PASSCODE       passcode
    ENGAGECTL_PASSCODE_FILE  file that contains the passcode; a trailing newline is ignored

    Credentials of the calling system (set them together):
    ENGAGECTL_CALL_ACCOUNT_ID    calling account id
    ENGAGECTL_CALL_API_KEY       API key
    ENGAGECTL_CALL_API_KEY_FILE  file that contains the API key

    Tokens of callers (serve --require-tokens, call token):
    ENGAGECTL_CALL_TOKEN_KEY_FILE  file that contains the key, 32 bytes or more

    Set for the command of serve --push-hook:
    ENGAGECTL_PUSH_CUID       identity of the receiver
    ENGAGECTL_PUSH_DEVICE_ID  device that is not connected
    ENGAGECTL_PUSH_CALL_ID    id of the call

    Directories:
    ENGAGECTL_CONFIG_DIR             directory of the config file
    ENGAGECTL_STATE_DIR              directory of unfinished runs and of the local service
    ENGAGECTL_TRUST_GROUP            1 accepts group-writable directories (fsGroup of Kubernetes)
    XDG_CONFIG_HOME, XDG_STATE_HOME  parents of these directories on Linux
    APPDATA, LOCALAPPDATA            parents of these directories on Windows
    HOME, USERPROFILE                used if none of the above is set
    XDG_CACHE_HOME                   where Node 22 and newer cache the compiled program
    TMPDIR                           temporary files of CSV exports to standard output

    Several machines:
    ENGAGECTL_QUEUE            queue of a fleet: redis://… or postgres://…
    ENGAGECTL_WORK_DIRS        work directories of fleet work, separated as in PATH
    JOB_COMPLETION_INDEX       Kubernetes: number of this shard for --shard auto, from 0
    AWS_BATCH_JOB_ARRAY_INDEX  AWS Batch: number of this shard
    AWS_BATCH_JOB_ARRAY_SIZE   AWS Batch: number of shards
    SLURM_ARRAY_TASK_ID        Slurm: number of this shard
    SLURM_ARRAY_TASK_COUNT     Slurm: number of shards
    SLURM_ARRAY_TASK_MIN       Slurm: first number
    SLURM_ARRAY_TASK_STEP      Slurm: step between numbers
    CLOUD_RUN_TASK_INDEX       Cloud Run: number of this shard
    CLOUD_RUN_TASK_COUNT       Cloud Run: number of shards

    Network:
    HTTPS_PROXY, HTTP_PROXY, NO_PROXY  proxies; lowercase works, too; loopback is never proxied
    NODE_EXTRA_CA_CERTS                file with additional certificate authorities
    NODE_TLS_REJECT_UNAUTHORIZED       0 is refused, because anybody could then read the passcode
    PGSSLMODE                          no-verify is refused for a queue on PostgreSQL

    Terminal and continuous integration:
    NO_COLOR             disables colors, like --no-color
    FORCE_COLOR          enables colors without a terminal
    CLICOLOR_FORCE       the same as FORCE_COLOR
    ENGAGECTL_FORCE_TTY  formats output as for a terminal; a number sets its width
    CI                   replaces progress bars by occasional plain lines
    ENGAGECTL_NO_INPUT   disables prompts, like --no-input
    TERM                 dumb disables colors and progress bars
    COLUMNS              width of help, 60 to 120 (default: width of the terminal)
    GITHUB_ACTIONS       true turns the first rejects into annotations
    GITHUB_WORKSPACE     directory that file names in annotations are relative to
    GITHUB_STEP_SUMMARY  file to which a table of the counts is appended
  `,
  'exit-codes': `
    # handle a failure in a script
    engagectl upload users.csv --quiet || echo "exit code $?"
    # explain an error
    engagectl help errors E-UNAVAILABLE

    Scripts may depend on these numbers; their meaning never changes. Treat any other number as a
    failure.

    Exit codes:
    0    success: everything is done and accounted for
    1    internal error (a defect in engagectl)
    2    usage or configuration error; nothing was sent
    3    finished; some records were rejected, not found, or fewer than expected
    4    the service refused the credentials
    5    the service stayed unreachable, failing or pending after all attempts
    6    the outcome of some records is unknown; they are in the rejects file
    7    unexpected response from the service
    8    input, journal or existing output refused before anything was sent
    9    a local file could not be read or written, or the input is incomplete
    129  interrupted by SIGHUP (the terminal was closed)
    130  interrupted by SIGINT (Ctrl-C)
    141  the reader of standard output closed it
    143  interrupted by SIGTERM

    If several apply, the most serious one is used: 6, then 130, 143 or 129, 7, 9, 4, 5, 3. After 4,
    5, 9, 129, 130 and 143, rerun the same command with --resume. After 6, --resume continues with
    the records whose outcome is known.
  `,
  formats: `
    # read and validate everything, send nothing
    engagectl upload users.csv --check
    # other column names and types
    engagectl upload crm.csv --identity CustomerId --map mail=Email --types Age:integer
    # a CSV dialect
    engagectl upload semicolons.txt --input-format csv --delimiter ';' --encoding windows-1252
    # export a table
    engagectl export-events --event Charged --from 7d --to today -o charged.csv

    The input format comes from --input-format, then the file extension, then the content. Gzip is
    recognized by its content, UTF-8 and UTF-16 by their byte order mark; other encodings need
    --encoding. ISO-2022-JP is refused.

    Input:
    .csv, .tsv       RFC 4180 with a header row; other dialects: --delimiter, --quote, --escape, --comment
    .ndjson, .jsonl  one JSON object per line; numbers keep their spelling
    .json            one array of JSON objects
    .gz              after any of these: compressed
    list             one value per line, for subscribe, demerge and get-profile

    Columns of profiles:
    identity    identifies the user; --identity or --object-id name another column
    all others  profile properties of the same name; change this with --map, --drop and --only
    MSG-…       boolean, so that an opt-out is never sent as text

    Columns of events (--type event):
    identity, ts, evtName  user, time (epoch seconds or ISO 8601) and name (or --event-name)
    all others             event properties

    Types (--types <column>:<type>):
    string           the default
    integer, number  sent with every digit as written
    boolean          true, false, 1, 0, yes, no, in upper or lower case
    date             ISO 8601 or epoch seconds
    json             any JSON value
    phone:+91        + and digits, with this country code
    phone(DE)        spellings of this country and international ones, sent as + and digits
    list(;)          several values in one cell

    Formats of types: date(DD.MM.YYYY), date(M/D/YYYY H:mm), date(excel), date(epochMillis),
    number(1.234,56), number($1,234.56), integer(1.234), boolean(ja,nein). --locale de-DE sets
    them for types without one. Years written as YY are 1970 to 2069.

    A cell that does not match its type rejects its record; the rejects file says why. Empty cells
    are omitted unless --empty null or --empty string is given. For wide files, write all of this
    into a JSON file for --mapping:
    {"identity":"Id","map":{"mail":"Email"},"types":{"Age":"integer"},"drop":["Note"]}

    A mapping file can also state expectations. Records that violate them are rejected; a file as a
    whole is refused (E-EXPECTED, exit code 8). If a pipe ends with too few records, those that
    arrived have been sent (E-TOO-FEW, exit code 3).

    Expectations:
    "required":["mail"]          columns that have a value in every row
    "columns":"exact"            no columns except those named in the file
    "records":{"min":1000}       minimum number of records
    "values":{"Plan":["a","b"]}  allowed values of a column; empty is allowed, too

    --preview --write-mapping <file> drafts a mapping file from the data.

    Output of exports, by the name of --output or by --format:
    .ndjson, .jsonl  each record byte for byte as the service sent it; the default
    .csv             nested objects as dotted columns (profileData.City), arrays as JSON; see --columns and --bom
    .json            one array
    .gz              after any of these: compressed
  `,
  resume: `
    # list unfinished runs
    engagectl runs list
    # continue, or start if there is nothing to continue
    engagectl upload users.csv --resume
    # discard the unfinished run, and start from scratch
    engagectl upload users.csv --fresh
    # remove old unfinished runs
    engagectl runs prune --older-than 30d

    Rerun the same command with --resume to continue an interrupted run (killed, Ctrl-C, disk full,
    service unavailable), or type engagectl runs resume <id> in any directory. The result is the
    same as if the run had never been interrupted. If there is no unfinished run, --resume starts
    one, so a cron job can always pass it.

    After an interruption:
    killed, power cut  committed records are on the disk: --resume
    129, 130, 143      requests in flight had up to 10 s to finish: --resume
    4, 5               --resume when the account or the service works again
    9                  free disk space, or complete the input (E-INCOMPLETE), then --resume
    6                  never resent automatically: see stage "unknown" in the rejects file
    8                  the input, the options or the files have changed: restore them, or --fresh
    7, cursor          an export cursor expired: --fresh starts the export again

    Flags:
    --resume         continue the unfinished run; if there is none, start one
    --final          the input ends here: do not wait for the rest of its last line
    --fresh          discard the unfinished run and start from scratch; an export's partial file is renamed
    --no-journal     do not keep a journal (the run cannot be resumed)
    --retry-unknown  resend records whose outcome is unknown

    Records that are not idempotent (events, demerges, $incr, $decr, $add) are written to the journal
    before they are sent. After a kill, those without an outcome count as unknown. Not resumable:
    input from a pipe without --run-name (unsent records are in the rejects file), output to
    standard output, --check, --dry-run.

    Runs are stored in the state directory (engagectl help environment), readable only by you. A
    finished run is removed.
  `,
  security: `
    # read the passcode from a file
    engagectl config set --region eu1 --passcode-file passcode.txt
    # read it from a mounted secret
    ENGAGECTL_ACCOUNT_ID=ACC-1 ENGAGECTL_PASSCODE_FILE=passcode.txt engagectl config check
    # show the configuration; the passcode is masked
    engagectl config show

    Passcodes:
    interactive   config set prompts without echo; or --passcode-stdin, --passcode-file
    in jobs       ENGAGECTL_PASSCODE_FILE, else ENGAGECTL_PASSCODE; never a flag
    from a store  the command of a secret store: config set --passcode-command
    stored in     the config file, mode 0600 in a directory of mode 0700; wider modes are refused
    API key       of the calling system: config set --call-api-key-file
    never shown   in output, errors, logs, journals, rejects files or process arguments

    Network:
    address        only the configured address: no telemetry, no update check
    https only     except to loopback; redirects are never followed
    local service  loopback only, with a generated passcode

    Files:
    private       rejects files, partial outputs and journals have mode 0600: they contain personal data
    formulas      spreadsheet formulas in CSV exports are counted; --csv-formulas escape escapes them
    foreign text  control characters are escaped before text reaches a terminal

    Personal data in messages, logs, reports, annotations:
    masked      identities, emails, phone numbers (ada…, +9198…), with file and line beside them
    not masked  with --show-pii; in rejects files, outputs and on standard output; what you typed

    Logs:
    -v          each request: time, records, result
    -vv         also its size and headers, without secrets: those that differ from the previous request
    --log-file  everything -v prints, even with --quiet; mode 0600, appended; --log-format json writes objects

    Writes with a config profile marked production (config set --production) ask for confirmation on
    a terminal. A demerge asks you to type its record count; without a terminal it needs --yes.
  `,
};

/** Parses a page into a topic. */
export function parseTopic(page: string): Topic {
  const [examples = '', ...parts] = page.split(/\n *\n/);
  return { examples: parseExamples(examples), parts: parts.map(partIn) };
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

/** Renders a topic, wrapped at `width` columns. */
export function renderTopic(topic: Topic, width: number, program: string): string {
  const { examples, parts } = called(topic, program);
  const opening = examples.length > 0 ? [renderExamples(examples, width)] : [];
  const texts = parts.flatMap((part) =>
    typeof part === 'string' ? `${wrap(part, width).join('\n')}\n` : renderTables([part], width),
  );
  return [...opening, ...texts].join('\n');
}

/** Replaces the program name in examples by the name it was called by. */
function called({ examples, parts }: Topic, program: string): Topic {
  const by = (text: string) => withProgramName(text, program);
  return {
    examples: examples.map(([what, line]) => [what, by(line)]),
    parts: parts.map((part) =>
      typeof part === 'string'
        ? by(part)
        : { ...part, rows: part.rows.map(([term, meaning]) => [by(term), by(meaning)] as const) },
    ),
  };
}

/** Explains one error id, or lists all. Throws E-USAGE for an unknown id. */
export const errorsTopic = (id: string | undefined): Topic =>
  id === undefined ? listTopic() : explained(idOf(id));

const ids = Object.keys(errorIds) as ErrorId[];
const longestId = Math.max(...ids.map((id) => id.length));

const listTopic = (): Topic => ({
  examples: [
    ['explain one error', 'engagectl help errors E-UNAVAILABLE'],
    ['list the exit codes', 'engagectl help exit-codes'],
  ],
  parts: [
    'Each error says what failed, why, and what to type next. The meaning of an id never changes.',
    ...[...new Set(Object.values(errorIds))].map((code) => ({
      heading: `Exit code ${code}:`,
      rows: ids
        .filter((id) => errorIds[id] === code)
        .map((id) => [id.padEnd(longestId), errorExplanations[id].means] as const),
    })),
  ],
});

function explained(id: ErrorId): Topic {
  const { means, causes, next }: ErrorExplanation = errorExplanations[id];
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

/** Finds an id in upper or lower case, with or without `E-`. */
function idOf(text: string): ErrorId {
  const wholeId = `E-${text.toUpperCase().replace(/^E-/, '')}`;
  const found = ids.find((id) => id === wholeId);
  if (found !== undefined) return found;
  const withPrefix = ids.filter((id) => id.startsWith(wholeId));
  const like = withPrefix.length > 0 ? withPrefix : [closestName(wholeId, ids) ?? []].flat();
  const near = like.map((id) => `engagectl help errors ${id}`);
  throw new EngagectlError('E-USAGE', `there is no error "${text}"`, {
    why: 'an error id begins with E-; engagectl help errors lists all of them',
    fix: near.length > 0 ? `did you mean: ${near.join(', ')}` : 'engagectl help errors',
  });
}
