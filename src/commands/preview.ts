import { shellWord } from '../wording.js';
import { EngagectlError } from '../errors.js';
import { previewUpload, type Preview } from '../jobs/write/preview.js';
import { count, grouped } from '../ui/format.js';
import { messages } from '../ui/messages.js';
import { showPreview } from '../ui/preview.js';
import { commandLine, ofRehearsal } from './shared/suggested-command.js';
import { needInput } from './flags/input-flags.js';
import { jobWords } from './shared/job-context.js';
import type { Call } from './shared/command-spec.js';
import type { PreviewFlag, UploadFlags } from './upload.js';

/** What a drafted mapping file says in their stead, and where it goes. */
const ofDraft = [
  ofRehearsal,
  ['write-mapping', 'overwrite', 'identity', 'object-id', 'map', 'types', 'drop', 'only'],
].flat();

/** Shows on stdout what would be sent. Throws E-REJECTED where rows would be rejected. */
export async function preview(call: Call<UploadFlags>, asked: PreviewFlag): Promise<void> {
  const { shard: _, ...flags } = call.flags; // it is the input that is looked at
  const { runtime } = call;
  const files = [...asked.files, ...call.operands];
  needInput(files, call);
  const settings = call.settings();
  const { timezone = 'UTC' } = settings;
  if (flags.overwrite && flags.writeMapping === undefined) throw nothingToReplace();
  const request = { ...flags, files, count: asked.count };
  const seen = await previewUpload(request, { runtime, words: jobWords, timezone });
  showPreview(seen, settings, runtime);
  if (flags.writeMapping !== undefined) {
    const typed = { command: call.command, argv: settings.argv };
    const next = `${commandLine(typed, files, ofDraft)} --check --mapping ${shellWord(flags.writeMapping)}`;
    messages(settings, runtime).note(`${drafted(seen, flags.writeMapping)}\nnext: ${next}`);
  }
  if (seen.rejected === 0) return;
  const message = `${grouped(seen.rejected)} of ${count(seen.records, 'record')} would be rejected`;
  throw new EngagectlError('E-REJECTED', message, {
    why: seen.rejects[0]?.error,
    fix: 'correct them, or let the upload pass over them; --check writes all of them to a file',
  });
}

const nothingToReplace = (): EngagectlError =>
  new EngagectlError('E-USAGE', '--overwrite is for --write-mapping', {
    why: 'a preview writes nothing else',
    fix: 'add --write-mapping <file>, or leave --overwrite out',
  });

/** `wrote m.json: identity "Id", 12 columns, 2 of them renamed, …`. */
function drafted({ drafted: mapping, columns, complete }: Preview, file: string): string {
  const { identity, objectId, map = {}, types = {}, required = [], values = {} } = mapping ?? {};
  const renamed = Object.entries(map).filter(([column, key]) => column !== key).length;
  const parts = [
    `${identity === undefined ? 'objectId' : 'identity'} ${JSON.stringify(identity ?? objectId)}`,
    count(columns.length, 'column'),
    renamed > 0 && `${grouped(renamed)} renamed`,
    Object.keys(types).length > 0 && `${grouped(Object.keys(types).length)} typed`,
    required.length > 0 && `${grouped(required.length)} required`,
    Object.keys(values).length > 0 && `${grouped(Object.keys(values).length)} of few values`,
  ];
  const from = complete ? '' : ', from the beginning of the input';
  return `wrote ${file}: ${parts.filter(Boolean).join(', ')}${from}`;
}
