// Writes the software bill of materials of the published package to stdout, as CycloneDX JSON: what it depends on, and the
// packages whose code `npm run build` has put into dist/, which npm alone takes for tools of development.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const licences = readFileSync(`${root}dist/THIRD-PARTY-LICENSES`, 'utf8');
const bundled = new Set(
  [...licences.matchAll(/^(\S+) (\d+\.\d+\.\d+\S*)$/gm)].map(
    ([, name, version]) => `${name}@${version}`,
  ),
);

const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
const sbom = JSON.parse(execFileSync('npm', args, { cwd: root, maxBuffer: 1e8 }).toString());
const isTool = ({ properties = [] }) =>
  properties.some(({ name }) => name === 'cdx:npm:package:development');
const idOf = ({ name, version }) => `${name}@${version}`;
const components = sbom.components
  .filter((component) => bundled.has(idOf(component)) || !isTool(component))
  .map(({ properties = [], ...component }) => ({
    ...component,
    properties: properties.filter(({ name }) => name !== 'cdx:npm:package:development'),
  }));
const listed = new Set(components.map(idOf));
for (const id of bundled) if (!listed.has(id)) throw new Error(`package-lock.json has no ${id}`);

const refs = new Set(components.map((component) => component['bom-ref']));
const { component } = sbom.metadata;
component.name = 'engagectl'; // npm takes the name of the folder
const dependencies = sbom.dependencies
  .filter(({ ref }) => refs.has(ref) || ref === component['bom-ref'])
  .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }));
process.stdout.write(`${JSON.stringify({ ...sbom, components, dependencies }, null, 2)}\n`);
