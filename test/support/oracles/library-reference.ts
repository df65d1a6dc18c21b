import ts from '@typescript/typescript6';

interface EntryPoint {
  /** Exports that programs import. */
  readonly name: string;
  /** Its declarations below dist/, without `.d.ts`. */
  readonly file: string;
  /** Its bundled declarations. */
  readonly text: string;
}

/** All exports of the entry points with their docstrings as one page of Markdown: docs/library-reference.md. */
export function libraryReference(entryPoints: readonly EntryPoint[]): string {
  return [
    '# Library reference',
    'Every export of the package, then the types that exports refer to. Written from the docstrings, by `npx vitest run test/cli/package-types.long.test.ts -u`. Introduction with examples: [library.md](library.md), [local-service.md](local-service.md), [calling.md](calling.md).',
    ...entryPoints.flatMap(entryPointPart),
  ]
    .join('\n\n')
    .concat('\n');
}

function entryPointPart({ name, file, text }: EntryPoint): string[] {
  const source = ts.createSourceFile(`${file}.d.ts`, text, ts.ScriptTarget.Latest, true);
  const exported = exportedNames(source);
  const declarations = source.statements.flatMap((statement) => {
    const declared = nameOf(statement);
    return declared === undefined ? [] : [{ name: declared, statement }];
  });
  const parts = (wanted: boolean) =>
    declarations
      .filter(({ name }) => exported.has(name) === wanted)
      .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
      .flatMap(({ name, statement }) => declarationPart(wanted ? '###' : '####', name, statement));
  const others = parts(false);
  return [
    `## ${name}`,
    `As declarations: \`dist/${file}.d.ts\` of the package.`,
    ...parts(true),
    ...(others.length > 0 ? [`### Types that ${name} refers to`, ...others] : []),
  ];
}

const exportedNames = (source: ts.SourceFile): Set<string> =>
  new Set(
    source.statements.flatMap((statement) =>
      ts.isExportDeclaration(statement) &&
      statement.exportClause &&
      ts.isNamedExports(statement.exportClause)
        ? statement.exportClause.elements.map((one) => (one.propertyName ?? one.name).text)
        : [],
    ),
  );

function nameOf(statement: ts.Statement): string | undefined {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations[0]?.name.getText();
  if (
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement)
  )
    return statement.name?.text;
  return undefined;
}

/** An interface or class as a list of its members; anything else as its declaration. */
function declarationPart(level: string, name: string, statement: ts.Statement): string[] {
  const heading = [`${level} ${name}`, ...docOf(statement)];
  if (!ts.isInterfaceDeclaration(statement) && !ts.isClassDeclaration(statement))
    return [...heading, `\`\`\`ts\n${codeOf(statement)}\n\`\`\``];
  const parents = (statement.heritageClauses ?? []).map((clause) => `\`${oneLine(clause)}\``);
  const members = [...statement.members].filter((member) => !isPrivate(member));
  const list = members.flatMap((member) => memberLines(member));
  return [...heading, ...parents, ...(list.length > 0 ? [list.join('\n')] : [])];
}

/** A member with its docstring; below a property that is an object, the members of that. */
function memberLines(member: ts.ClassElement | ts.TypeElement, indent = ''): string[] {
  const type = ts.isPropertySignature(member) ? member.type : undefined;
  const nested = type && ts.isTypeLiteralNode(type) ? type.members : [];
  const code = oneLine(member).replace(/^readonly |;$/g, '');
  const shown = nested.length > 0 ? code.slice(0, code.indexOf(':')) : code;
  const line = [`${indent}- \`${shown}\``, ...docOf(member)].join(': ');
  return [line, ...nested.flatMap((one) => memberLines(one, `${indent}  `))];
}

const isPrivate = (member: ts.Node): boolean =>
  ts.canHaveModifiers(member) &&
  (ts.getModifiers(member) ?? []).some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword);

/** The text of its docstring as one paragraph. */
const docOf = (node: ts.Node): string[] =>
  ts
    .getJSDocCommentsAndTags(node)
    .flatMap((doc) => ts.getTextOfJSDocComment(doc.comment) ?? [])
    .map((text) => text.replaceAll(/\s+/g, ' '));

const codeOf = (node: ts.Node): string => node.getText().replace(/^declare /, '');

const oneLine = (node: ts.Node): string =>
  node
    .getText()
    .replaceAll(/\/\*\*[^]*?\*\//g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
