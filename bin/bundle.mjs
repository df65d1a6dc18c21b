// Makes of the modules in build/ the program, and puts it in the place of dist/: part of `npm run build`. Start-up is why: a few files
// are loaded instead of hundreds, and of the dependencies what is used. What is native of libsql stays outside.
// It is CommonJS, which Node loads faster; importers of the package still get an ES module.
// Comments are left out; more minifying hardly gains time, and stack traces stay readable.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { bundleCalling } from './bundle-calling.mjs';
import { bundleDeclarations } from './bundle-declarations.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const built = join(root, 'build');

/**
 * Modules that are needed together are one file: `main` answers `--version`, `program` is the command tree and
 * answers `--help`, `run` is the job of an upload, and what that command loads as other commands do. Without `run`,
 * an upload loads 50 files, which takes 13 ms more. A group takes the dependencies of its modules with it; the first
 * group that wants a module has it. What else is loaded by `import()` gets files of its own.
 */
const groups = [
  group('main', ({ id }) =>
    ['process', 'main', 'runtime', 'redact'].some((name) => id === module(name)),
  ),
  group('program', ({ id, dynamicImporters }) =>
    [id, ...dynamicImporters].includes(module('program')),
  ),
  group(
    'run',
    ({ id, dynamicImporters: importers }) =>
      id === module('jobs/write/upload') ||
      (importers.includes(module('commands/upload')) && importers.length > 1),
  ),
  group('phone-numbers', ({ id }) => id.includes('/node_modules/libphonenumber-js/')),
];

function group(name, wants) {
  const nameOf = (id, context) => (wants(context.getModuleInfo(id)) ? name : null);
  return { name: nameOf, debugName: name };
}

/** One of build/. Throws where there is none: its group would be empty in silence, and start-up slower. */
function module(name) {
  const file = join(realpathSync(built), `${name}.js`);
  if (!existsSync(file)) throw new Error(`bin/bundle.mjs names ${file}, which does not exist`);
  return file;
}

/**
 * What dependencies load for a use that is not made of them here, at the cost of milliseconds: undici's
 * HTTP/2, which it would have to be told to speak, its bodies that are forms, its parser for processors without
 * SIMD, which our own WebAssembly needs as well, and Node's own HTTP; commander's commands that are programs of
 * their own; what conf needs for schemas and migrations: zod checks the config file.
 */
const unused = [
  ['undici/lib/dispatcher/client.js', './client-h2.js'],
  ['undici/lib/dispatcher/client-h1.js', '../web/fetch/body.js'],
  ['undici/lib/dispatcher/client-h1.js', '../llhttp/llhttp-wasm.js'],
  ['undici/lib/dispatcher/client.js', 'node:http'],
  ['undici/lib/core/util.js', 'node:http'],
  ['commander/lib/command.js', 'node:child_process'],
  ['conf/dist/source/index.js', 'ajv/dist/2020.js'],
  ['conf/dist/source/index.js', 'ajv-formats'],
  ['conf/dist/source/index.js', 'semver'],
];

/** The one property read from them: the maximum header size of Node's own client. */
const instead = 'module.exports = { maxHeaderSize: 16384 };';

const leaveOutUnused = {
  name: 'leave-out-unused',
  resolveId: (id, importer) =>
    unused.some(([file, wanted]) => id === wanted && importer?.endsWith(`/node_modules/${file}`))
      ? '\0unused'
      : null,
  load: (id) => (id === '\0unused' ? instead : null),
};

/**
 * libsql asks Node for a report about the whole process to learn which of its native parts fits: 12 ms before each
 * write, whose lock it keeps. Of these parts only those of the platform are installed: the first that loads is it.
 */
const quickLibsql = {
  name: 'quick-libsql',
  transform(code, id) {
    if (!/\/node_modules\/libsql\/(?:index|promise)\.js$/.test(id)) return null;
    const asking = /\nfunction requireNative\(\) \{[^]*?\n\}\n/;
    const modules =
      /const \{ load, currentTarget \}.*\nconst \{ familySync.*\n|if \(0\) \{[^]*?\n\}\n/g;
    if (!asking.test(code) || !modules.test(code))
      throw new Error('libsql finds its native part in another way now');
    return code.replaceAll(modules, '').replace(asking, () => `\n${requireNative}\n`);
  },
};

/** Nearly always it lies where this program finds it. Where only libsql finds it, to ask that costs 3 ms. */
const requireNative = `function requireNative() {
  const { platform, arch } = process;
  const kinds = { linux: ['-gnu', '-musl', '-gnueabihf', '-musleabihf'], win32: ['-msvc'] }[platform] ?? [''];
  let failure;
  for (const find of [require.resolve, (name) => require.resolve(name, { paths: [require.resolve('libsql')] })]) {
    for (const kind of kinds) {
      try {
        return require(find('@libsql/' + platform + '-' + arch + kind));
      } catch (error) {
        if (failure === undefined || error.code !== 'MODULE_NOT_FOUND') failure = error;
      }
    }
  }
  throw failure;
}`;

async function bundle() {
  const bundled = await rolldown({
    cwd: root,
    input: {
      process: join(built, 'process.js'),
      library: join(built, 'index.js'),
      'library-testing': join(built, 'testing.js'),
      'library-calling-node': join(built, 'calling/node/index.js'),
    },
    platform: 'node',
    external: [/^@libsql\//, 'bullmq', 'ioredis', 'pg', '@roamhq/wrtc'],
    plugins: [leaveOutUnused, quickLibsql],
    checks: { ineffectiveDynamicImport: false },
  });
  const { output } = await bundled.generate({
    format: 'cjs',
    dynamicImportInCjs: false,
    entryFileNames: '[name].cjs',
    chunkFileNames: '[name].cjs',
    codeSplitting: { groups },
    comments: { legal: true, annotation: false, jsdoc: false },
  });
  return output;
}

/**
 * What Node 20 loads quicker. One letter beyond ASCII makes V8 keep a whole file in twice the bytes. The functions around
 * modules of CommonJS are called at once, which V8 sees by the parentheses around them, though not around arrows: else it
 * would parse each of them twice.
 */
function quicker(code) {
  return code
    .replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replaceAll(
      /__commonJSMin\(\((\(exports(?:, module)?\)) => \{/g,
      '__commonJSMin((function$1 {',
    );
}

/** A module of CommonJS that threw runs again where it is required again, as in Node. Else half of it would be returned. */
function reloading(code) {
  const load = 'cb((mod = { exports: {} }).exports, mod, mod.exports)';
  const once = `(mod || (${load}, cb = null), mod.exports);`;
  if (!code.includes(once))
    throw new Error('rolldown loads modules of CommonJS in another way now');
  return code.replace(
    once,
    `{
	if (mod) return mod.exports;
	try {
		${load};
	} catch (error) {
		mod = undefined;
		throw error;
	}
	cb = null;
	return mod.exports;
};`,
  );
}

/** Entry points of the package for `import`. */
function entry(output, part, folder = './') {
  const { exports } = output.find(({ name }) => name === part);
  return `import library from '${folder}${part}.cjs';\nexport const { ${exports.join(', ')} } = library;\n`;
}

/** The licences of the packages whose code is in the bundle, each text once, below the packages that have it. */
function licences(output) {
  const modules = output.flatMap(({ modules }) => Object.keys(modules));
  const packages = modules.flatMap(
    (id) => id.match(/^.*\/node_modules\/(@[^/]+\/)?[^/]+/)?.[0] ?? [],
  );
  const found = [...new Set(packages)].map(licence).sort((a, b) => (a.name < b.name ? -1 : 1));
  const namesOf = new Map();
  for (const { name, text } of found) namesOf.set(text, `${namesOf.get(text) ?? ''}${name}\n`);
  const texts = [...namesOf].map(([text, names]) => `\n${'-'.repeat(80)}\n${names}\n${text}\n`);
  return `engagectl contains code of these packages.\n${texts.join('')}`;
}

function licence(path) {
  const { name, version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  const file = readdirSync(path).find((file) => /^licen[cs]e/i.test(file));
  if (file === undefined) throw new Error(`${path} has no licence`);
  return { name: `${name} ${version}`, text: readFileSync(join(path, file), 'utf8').trim() };
}

const output = await bundle();
const calling = await bundleCalling(built);
const files = new Map([
  ...output.map(({ fileName, name, code }) => [
    fileName,
    quicker(name === 'rolldown-runtime' ? reloading(code) : code),
  ]),
  ['index.js', entry(output, 'library')],
  ['testing.js', entry(output, 'library-testing')],
  ['calling/index.js', calling.esm],
  ['calling/cjs/index.js', calling.cjs],
  ['calling/cjs/package.json', '{ "type": "commonjs" }\n'],
  ['calling/node/index.js', entry(output, 'library-calling-node', '../../')],
  ...(await bundleDeclarations(built)),
  ['THIRD-PARTY-LICENSES', licences(output)],
]);

for (const [name, content] of files) {
  const file = join(root, 'dist.new', name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

// A program that is started meanwhile finds the old one or the new one, whole.
const [dist, old] = [join(root, 'dist'), join(root, 'dist.old')];
rmSync(old, { recursive: true, force: true });
if (existsSync(dist)) renameSync(dist, old);
renameSync(join(root, 'dist.new'), dist);
rmSync(old, { recursive: true, force: true });
