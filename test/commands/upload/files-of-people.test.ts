import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { serve } from '../../support/serve.js';

// Files as people have them: the draft of --write-mapping takes each into the account without an edit, or the preview stops
// and says what to type.

const day = (iso: string): string => `$D_${Date.parse(iso) / 1000}`;

interface Sample {
  readonly name: string;
  readonly text: string | Buffer;
  readonly flags?: readonly string[];
  /** Some of the data of the user. */
  readonly data?: object;
  /** All data of the user. */
  readonly all?: object;
  /** Default: u1. */
  readonly user?: string;
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const utf16 = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le');

const samples: Readonly<Record<string, Sample>> = {
  'a German spreadsheet': {
    name: 'kunden.csv',
    text: 'Kundennummer;Name;Geburtsdatum;Umsatz;Aktiv;Email;Ort\nu1;Jürgen;31.12.1990;1.234,56;ja;a@example.com;Köln\nu2;Ute;1.2.1985;12,50;nein;b@example.com;Ulm\n',
    data: { Geburtsdatum: day('1990-12-31'), Umsatz: 1234.56, Aktiv: true, Ort: 'Köln' },
  },
  'the same in windows-1252, with an Excel separator line': {
    name: 'kunden.csv',
    text: Buffer.from(
      'sep=;\r\nKundennummer;Ort;Umsatz\r\nu1;Köln;1.234,56 €\r\nu2;Ulm;0,99 €\r\n'
        .replace('€', '\u0080')
        .replace('€', '\u0080'),
      'latin1',
    ),
    data: { Ort: 'Köln', Umsatz: 1234.56 },
  },
  'Unicode text of a spreadsheet': {
    name: 'sheet.csv',
    text: utf16('CustomerID\tCity\tPoints\r\nu1\tZürich\t5\r\nu2\tBern\t7\r\n'),
    data: { City: 'Zürich', Points: 5 },
  },
  'a US spreadsheet': {
    name: 'customers.csv',
    text: 'Customer ID,Signup Date,Last Seen,Revenue,Newsletter,Zip\nu1,12/31/2023,01/02/2024,"$1,234.56",x,01234\nu2,07/15/2024,02/03/2024,$12.00,,98101\n',
    data: {
      'Signup Date': day('2023-12-31'),
      'Last Seen': day('2024-01-02'),
      Revenue: 1234.56,
      Newsletter: true,
      Zip: '01234',
    },
  },
  'times with am and pm': {
    name: 'customers.csv',
    text: 'CustomerId,Seen\nu1,1/31/2024 1:05 PM\nu2,2/1/2024 12:00 AM\n',
    data: { Seen: day('2024-01-31T13:05Z') },
  },
  'a British sheet': {
    name: 'customers.csv',
    text: 'CustomerId,Joined,Spent\nu1,31/12/2023,£10.50\nu2,01/02/2024,£7.25\n',
    data: { Joined: day('2023-12-31'), Spent: 10.5 },
  },
  'a French sheet': {
    name: 'clients.csv',
    text: 'Client ID;Inscrit;Montant;Actif\nu1;31/12/2023;1\u202f234,50;oui\nu2;01/02/2024;12,00;non\n',
    data: { Inscrit: day('2023-12-31'), Montant: 1234.5, Actif: true },
  },
  'a Swiss sheet': {
    name: 'kunden.csv',
    text: "Kunden-Nr;Betrag\nu1;1'234.50\nu2;7.25\n",
    data: { Betrag: 1234.5 },
  },
  'a percentage': {
    name: 'kunden.csv',
    text: 'KundenNr;Rabatt\nu1;12,5 %\nu2;7 %\n',
    data: { Rabatt: 12.5 },
  },
  'missing values of pandas': {
    name: 'frame.csv',
    text: 'user_id,score,city,seen\nu1,1.5,nan,2024-01-05 10:00:00\nu2,nan,Oslo,NaT\n',
    data: { score: 1.5, seen: day('2024-01-05T10:00:00Z') },
  },
  'missing values of a database': {
    name: 'dump.csv',
    text: 'user_id,city,plan\nu1,NULL,pro\nu2,Oslo,NULL\n',
    data: { plan: 'pro' },
  },
  'cells with whitespace around': {
    name: 'sheet.csv',
    text: `user_id,City,Email\nu1, Oslo ,a@example.com \n${Array.from({ length: 9 }, (_, n) => ` u${n + 2}, Rome ,b${n}@example.com\n`).join('')}`,
    data: { City: 'Oslo' },
  },
  'title lines and empty rows': {
    name: 'report.csv',
    text: 'Customers of 2024;;\n;;\nCustomerId;City;Points\nu1;Oslo;5\nu2;Rome;6\n;;\n;;\n',
    data: { City: 'Oslo', Points: 5 },
  },
  'national phone numbers': {
    name: 'kunden.csv',
    text: 'CustomerId,Mobile\nu1,+49 171 1234567\nu2,0049 171 1234568\nu3,+49 (0) 171 1234569\n',
    data: {},
  },
  'flat lines of another program': {
    name: 'users.ndjson',
    text: '{"type":"identify","userId":"u1","traits":{"email":"a@example.com","plan":"pro"},"context":{"ip":"192.0.2.1"}}\n{"type":"identify","userId":"u2","traits":{"email":"b@example.com"},"context":{"ip":"192.0.2.2"}}\n',
    data: { plan: 'pro', ip: '192.0.2.1' },
  },
  'records inside an object': {
    name: 'body.json',
    text: '{"users":[{"id":"u1","city":"Oslo"},{"id":"u2","city":"Rome"}]}',
    flags: ['--records', 'users'],
    data: { city: 'Oslo' },
  },
  'compact dates and words for booleans': {
    name: 'export.csv',
    text: 'customer_id;seen;opt\nu1;2024/01/31;J\nu2;2024/02/01;N\n',
    data: { seen: day('2024-01-31'), opt: true },
  },
  'two-digit years': {
    name: 'export.csv',
    text: 'customer_id;seen\nu1;31.01.24\nu2;01.02.24\n',
    data: { seen: day('2024-01-31') },
  },
  'answers of a form from a web spreadsheet': {
    name: 'form.csv',
    text: 'Timestamp,Email Address,What is your city?,Subscribed\n1/31/2024 13:05:10,u1@example.com,Oslo,TRUE\n2/1/2024 9:00:00,u2@example.com,Rome,FALSE\n',
    user: 'u1@example.com',
    all: {
      Timestamp: day('2024-01-31T13:05:10Z'),
      'What is your city?': 'Oslo',
      Subscribed: true,
    },
  },
  'all cells in quotes below a separator line': {
    name: 'calc.csv',
    text: 'sep=;\r\n"Kundennummer";"Notiz";"Datum"\r\n"u1";"sagte ""ja""\nzweite Zeile";"31.12.23 14:30"\r\n"u2";"";"01.01.24 08:05"\r\n',
    all: { Notiz: 'sagte "ja"\nzweite Zeile', Datum: day('2023-12-31T14:30Z') },
  },
  'a dump of a database with \\N': {
    name: 'dump.tsv',
    text: 'user_id\tcity\tcreated\tscore\nu1\tOslo\t2024-01-05 10:00:00\t5\nu2\t\\N\t2024-01-06 11:00:00\t\\N\n',
    all: { city: 'Oslo', created: day('2024-01-05T10:00:00Z'), score: 5 },
  },
  'German Unicode text of a spreadsheet': {
    name: 'sheet.txt',
    text: utf16(
      'Kundennummer\tOrt\tGeburtstag\tUmsatz\r\nu1\tZürich\t31.12.1990\t1.234,50\r\nu2\tBern\t01.02.1985\t7,25\r\n',
    ),
    all: { Ort: 'Zürich', Geburtstag: day('1990-12-31'), Umsatz: 1234.5 },
  },
  'a French sheet in windows-1252 with no-break spaces': {
    name: 'clients.csv',
    text: latin1(
      'Client ID;Prénom;Né le;Solde\r\nu1;Chloé;31/12/1990;1\u00a0234,50\r\nu2;Noël;01/02/1985;-12,00\r\n',
    ),
    all: { Prénom: 'Chloé', 'Né le': day('1990-12-31'), Solde: 1234.5 },
  },
  'a title and a date above a blank line': {
    name: 'report.csv',
    text: 'Monthly customer report\nGenerated 2024-01-31\n\nCustomer ID,Plan,City\nu1,pro,Oslo\nu2,free,Rome\n',
    all: { Plan: 'pro', City: 'Oslo' },
  },
  'several separators of thousands': {
    name: 'umsatz.csv',
    text: 'Kundennummer;Umsatz\nu1;1.234.567\nu2;12.000\nu3;999\n',
    all: { Umsatz: 1_234_567 },
  },
  'Ja and Nein, and crosses': {
    name: 'liste.csv',
    text: 'Kundennummer;Newsletter;Aktiv\nu1;Ja;x\nu2;Nein;\n',
    all: { Newsletter: true, Aktiv: true },
  },
  'a BOM and semicolons': {
    name: 'export.csv',
    text: '\uFEFFKundennummer;Ort\r\nu1;Köln\r\nu2;Ulm\r\n',
    all: { Ort: 'Köln' },
  },
  'days as a spreadsheet counts them': {
    name: 'sheet.csv',
    text: 'CustomerId,Signup Date,Last seen,Seats\nu1,45291,45291.5,40000\nu2,45300,45300.25,30000\n',
    all: {
      'Signup Date': day('2023-12-31'),
      'Last seen': day('2023-12-31T12:00Z'),
      Seats: 40_000,
    },
  },
  'times in milliseconds': {
    name: 'export.csv',
    text: 'userId,createdAt,last_login\nu1,1704067200000,1704153600\nu2,1704153600000,1704067200\n',
    all: { createdAt: day('2024-01-01'), last_login: day('2024-01-02') },
  },
  'times in milliseconds as JSON numbers': {
    name: 'export.ndjson',
    text: '{"userId":"u1","createdAt":1704067200000}\n{"userId":"u2","createdAt":1704153600000}\n',
    all: { createdAt: day('2024-01-01') },
  },
  'days without separators': {
    name: 'sap.csv',
    text: 'Kundennr;Geburtsdatum;Eintritt;Menge\nu1;19901231;20240101;20240199\nu2;19850201;20240115;20230101\nu3;19700301;20231224;20220101\n',
    all: { Geburtsdatum: day('1990-12-31'), Eintritt: day('2024-01-01'), Menge: 20_240_199 },
  },
  'words and dashes for missing values': {
    name: 'crm.csv',
    text: 'CustomerId,City,Plan\nu1,-,pro\nu2,None,pro\nu3,Oslo,-\n',
    all: { Plan: 'pro' },
  },
  'pipes as delimiters': {
    name: 'feed.txt',
    text: 'customer_id|city|points\nu1|Oslo|5\nu2|Rome|7\n',
    all: { city: 'Oslo', points: 5 },
  },
  'percent signs and TRUE': {
    name: 'sheet.csv',
    text: 'Customer ID,Discount,Active\nu1,45%,TRUE\nu2,5%,FALSE\n',
    all: { Discount: 45, Active: true },
  },
  'a currency code behind the number': {
    name: 'preise.csv',
    text: 'Kundennummer;Preis\nu1;12,50 EUR\nu2;1.000,00 EUR\n',
    all: { Preis: 12.5 },
  },
  'a Swiss sheet with a currency code and curly apostrophes': {
    name: 'kunden.csv',
    text: 'Kunden-Nr;Geburtstag;Betrag\nu1;1.2.1990;CHF 1’234.50\nu2;31.12.1985;CHF 7.25\n',
    all: { Geburtstag: day('1990-02-01'), Betrag: 1234.5 },
  },
  'an index that has a name': {
    name: 'frame.csv',
    text: 'Unnamed: 0,user_id,city\n0,u1,Oslo\n1,u2,Rome\n',
    all: { 'Unnamed: 0': 0, city: 'Oslo' },
  },
  'a serial number, leading zeros and an address as identity': {
    name: 'adressen.csv',
    text: 'Nr.;Vorname;E-Mail;PLZ\n1;Ann;u1@example.com;01234\n2;Bob;u2@example.com;80331\n',
    user: 'u1@example.com',
    all: { 'Nr.': '1', Vorname: 'Ann', PLZ: '01234' },
  },
  'times with an offset': {
    name: 'export.csv',
    text: 'user_id,last_seen,since\nu1,2024-01-31T13:05:10+01:00,2024-01-31\nu2,2024-02-01T09:00:00+01:00,2024-02-01\n',
    all: { last_seen: day('2024-01-31T12:05:10Z'), since: day('2024-01-31') },
  },
};

it.each(Object.entries(samples))(
  'takes %s without an edit',
  async (_, { name, text, flags = [], data = {}, all, user = 'u1' }) => {
    const { world } = await serve();
    writeFileSync(world.path(name), text);
    const draft = await world.run([
      'upload',
      name,
      ...flags,
      '--preview',
      '--write-mapping',
      'm.json',
    ]);
    expect([draft.code, draft.stdout]).toEqual([0, expect.stringContaining('No likely mistakes')]);
    const mapped = ['upload', name, ...flags, '--mapping', 'm.json'];
    const check = await world.run([...mapped, '--check', '--fail-on-warnings']);
    expect([check.code, check.stderr]).toEqual([0, expect.stringContaining('nothing was sent')]);
    expect((await world.run(mapped)).code).toBe(0);
    const { stdout } = await world.run(['get-profile', user]);
    const { profileData } = JSON.parse(stdout) as { profileData: object };
    expect([profileData, readFileSync(world.path('m.json'), 'utf8')]).toEqual([
      all ?? expect.objectContaining(data),
      expect.any(String),
    ]);
  },
);

it.each([
  [
    'dates in either order',
    'id,seen\nu1,01/02/2024\nu2,03/04/2024\n',
    '--types seen:date(',
    ['seen:date(MM/DD/YYYY)', 'seen:date(DD/MM/YYYY)'],
  ],
  [
    'dates of equal day and month',
    `id,seen\n${Array.from({ length: 99 }, (_, n) => `u${n},01/01/${1950 + n}\n`).join('')}`,
    '--types seen:date(',
    ['seen:date(DD/MM/YYYY)', 'seen:date(MM/DD/YYYY)'],
  ],
  [
    'numbers with a point before three digits',
    'id,spent\nu1,1.234\nu2,2.500\n',
    '--types',
    ['spent:number(1,234.56)', 'spent:number(1.234,56)'],
  ],
])('stops at %s, and says what to type', async (_, text, __, types) => {
  const { world } = await serve();
  writeFileSync(world.path('a.csv'), text);
  const argv = ['upload', 'a.csv', '--preview', '--write-mapping', 'm.json'];
  const { code, stderr } = await world.run(argv);
  expect([code, stderr]).toEqual([8, expect.stringContaining('can be read in several ways')]);
  for (const type of types) {
    expect(stderr).toContain(`--types '${type}'`);
    expect((await world.run([...argv, '--types', type, '--overwrite'])).code).toBe(0);
  }
});

it('states how many values decide between day and month, with one of them as the example', async () => {
  const { world } = await serve();
  writeFileSync(world.path('a.csv'), 'id,seen\nu1,01/02/1990\nu2,25/02/1985\nu3,31/12/1985\n');
  const { stderr } = await world.run(['upload', 'a.csv', '--preview', '--write-mapping', 'm.json']);
  expect(stderr).toContain(
    '"seen": date(DD/MM/YYYY): 3 of 3 distinct values fit; 2 of them cannot be date(MM/DD/YYYY), such as "25/02/1985"\n',
  );
});

it.each([[[]], [['--identity', 'id']]])(
  'drafts numeric ids of JSON as texts (%j)',
  async (flags) => {
    const { world } = await serve();
    writeFileSync(world.path('a.json'), '[{"id":1,"name":"A"},{"id":2,"name":"B"}]');
    const preview = ['upload', 'a.json', '--preview', '--write-mapping', 'm.json'];
    expect((await world.run([...preview, ...flags])).code).toBe(0);
    const checked = await world.run(['upload', 'a.json', '--mapping', 'm.json', '--check']);
    expect([checked.code, checked.stderr]).toEqual([0, expect.not.stringContaining('warning')]);
    expect((await world.run(['upload', 'a.json', '--mapping', 'm.json'])).code).toBe(0);
    expect((await world.run(['get-profile', '2'])).stdout).toContain('"identity":"2"');
  },
);

it('states the evidence for each format', async () => {
  const { world } = await serve();
  writeFileSync(world.path('a.csv'), 'id;seen\nu1;31.12.1990\nu2;01.02.1985\n');
  const { stderr } = await world.run(['upload', 'a.csv', '--preview', '--write-mapping', 'm.json']);
  expect(stderr).toContain('"seen": date(DD.MM.YYYY): ');
  expect(stderr).toMatch(/2 distinct values fit, such as "31\.12\.1990"\n/);
});

it.each([
  ['an index without a name', 'df.csv', ',user_id,city\n0,u1,Oslo\n', 'to_csv(…, index=False)'],
  ['a name twice', 'd.csv', 'id,Name,Name\nu1,Ann,Lee\n', 'rename or remove one of the two'],
  [
    'a delimiter at the end of lines',
    't.csv',
    'id;City;\nu1;Oslo;\n',
    'the delimiter at the end of each line',
  ],
  ['text that was encoded twice', 'm.csv', 'id,City\nu1,KÃ¶ln\n', 'iconv -f UTF-8 -t WINDOWS-1252'],
  ['no identity', 'n.csv', 'Vorname,Nachname\nAnn,Lee\n', '--identity <column>'],
  [
    'national numbers',
    'p.csv',
    'Kundennummer;Telefon\nu1;0171 1234567\n',
    "--types 'Telefon:phone(DE)' or",
  ],
])('stops at %s, and says what to do', async (_, name, text, fix) => {
  const { world } = await serve();
  writeFileSync(world.path(name), text);
  const argv = ['upload', name, '--preview', '--write-mapping', 'm.json'];
  const { code, stderr } = await world.run(argv);
  expect([code, stderr]).toEqual([8, expect.stringContaining(`fix: `)]);
  expect(stderr).toContain(fix);
});

it.each([
  ["id,Zip\nu1,'01234\nu2,'98101\n", "'01234"],
  ['id,Zip\nu1,"=""01234"""\nu2,"=""98101"""\n', '=\\"01234\\"'],
])('gives a hint about marks of spreadsheets in %j', async (text, value) => {
  const { world } = await serve();
  writeFileSync(world.path('a.csv'), text);
  const draft = ['upload', 'a.csv', '--preview', '--write-mapping', 'm.json'];
  expect((await world.run(draft)).stdout).toContain(`"${value}", with the mark of a spreadsheet`);
  const check = ['upload', 'a.csv', '--mapping', 'm.json', '--check', '--fail-on-warnings'];
  expect((await world.run(check)).code).toBe(3);
});

it('asks on a terminal which order dates have, with samples of both', async () => {
  const { world } = await serve();
  const text =
    'id,seen,since\nu1,01/02/2024,02/03/2024\nu2,03/04/2024,01/05/2024\nu3,05/06/2024,07/07/2024\n';
  writeFileSync(world.path('a.csv'), text);
  const argv = ['upload', 'a.csv', '--preview', '--write-mapping', 'm.json'];
  const { code, stderr } = await world.run(argv, { tty: true, stdin: '1\n' });
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('column "seen" can be read in several ways'),
  ]);
  expect(stderr).toContain(
    '1  date(DD/MM/YYYY): 01/02/2024 is 2024-02-01, 03/04/2024 is 2024-04-03, 05/06/2024 is 2024-06-05\n',
  );
  expect(stderr).toContain('2  date(MM/DD/YYYY): 01/02/2024 is 2024-01-02,');
  expect(stderr).not.toContain('column "since" can be read');
  const { types } = JSON.parse(readFileSync(world.path('m.json'), 'utf8')) as { types: object };
  expect(types).toEqual({ seen: 'date(DD/MM/YYYY)', since: 'date(DD/MM/YYYY)' });
});

it('asks about dates of equal day and month, which decide about no other column', async () => {
  const { world } = await serve();
  writeFileSync(world.path('a.csv'), 'id,born,seen\nu1,01/01/1990,01/02/2024\n');
  const argv = ['upload', 'a.csv', '--preview', '--write-mapping', 'm.json'];
  const { code, stderr } = await world.run(argv, { tty: true, stdin: '2\n' });
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('2  date(MM/DD/YYYY): 01/01/1990 is 1990-01-01\n'),
  ]);
  const { types } = JSON.parse(readFileSync(world.path('m.json'), 'utf8')) as { types: object };
  expect(types).toEqual({ born: 'date(MM/DD/YYYY)', seen: 'date(MM/DD/YYYY)' });
});

it('stops if the answer is none of the numbers, or if nobody can be asked', async () => {
  const { world } = await serve();
  writeFileSync(world.path('a.csv'), 'id,seen\nu1,01/02/2024\n');
  const argv = ['upload', 'a.csv', '--preview', '--write-mapping', 'm.json'];
  for (const options of [{ tty: true, stdin: '3\n' }, { tty: true, stdin: '' }, {}]) {
    const { code, stderr } = await world.run(argv, options);
    expect([code, stderr]).toEqual([8, expect.stringContaining("--types 'seen:date(DD/MM/YYYY)'")]);
  }
  expect((await world.run([...argv, '--no-input'], { tty: true })).stderr).not.toContain(
    'Type a number',
  );
});

it('states which texts a draft takes as missing', async () => {
  const { world } = await serve();
  writeFileSync(world.path('a.csv'), 'id,City\nu1,None\nu2,-\nu3,None\nu4,Oslo\n');
  const { stderr } = await world.run(['upload', 'a.csv', '--preview', '--write-mapping', 'm.json']);
  expect(stderr).toContain('"City": 2 values are "None", read as missing\n');
  expect(stderr).toContain('"City": 1 value is "-", read as missing\n');
});

it.each([
  [
    'upload',
    '"identity","City"\r\nu1,Oslo\r\nidentity,City\r\nu,2,x\r\nidentity,"City"\r\nu2,City\r\n',
    2,
  ],
  [
    'upload',
    'identity,all_identities,profileData.City\nu1,,Oslo\nidentity,all_identities,profileData.City\nu2,,Rome\n',
    1,
  ],
  ['demerge', 'identity\nu1\nidentity\nu2\n', 1],
  ['upload', '\uFEFFName,identity\nAnn,u1\n\uFEFFName,identity\nBob,u2\n', 1],
])(
  '%s rejects rows that repeat the header, as in joined files: %j',
  async (command, text, rows) => {
    const { world } = await serve();
    writeFileSync(world.path('joined.csv'), text);
    const argv = [command, 'joined.csv', '--rejects', 'r.ndjson', '--yes', '--json'];
    const { code, stdout } = await world.run(
      argv.filter((arg) => arg !== '--yes' || command === 'demerge'),
    );
    expect([code, (JSON.parse(stdout) as { accepted: number }).accepted]).toEqual([3, 2]);
    const rejects = readFileSync(world.path('r.ndjson'), 'utf8').trimEnd().split('\n');
    const lines = rejects.map((line) => JSON.parse(line) as { line: number; error: string });
    const repeated = lines.filter(({ error }) => error.includes('the row repeats the header'));
    expect(repeated).toHaveLength(rows);
    expect(lines.map(({ line }) => line)).toEqual(
      lines.map(({ line }) => line).toSorted((a, b) => a - b),
    );
  },
);

it.each([
  [
    'with its columns in another order',
    'upload',
    'identity,City,Plan\nu1,Oslo,free\nidentity,Plan,City\nu2,paid,Rome\n',
  ],
  [
    'behind a byte order mark',
    'upload',
    '\uFEFFName;identity\nAnn;u1\n\uFEFFidentity;Name\nu2;Bob\n',
  ],
  ['in quotes', 'demerge', '"Name","identity"\n"Ann","u1"\n"identity","Name"\n"u2","Bob"\n'],
  ['with other columns', 'upload', 'identity,City,Note\nu1,Oslo,\nIdentity,Plan,Note\nu2,Rome,\n'],
  ['with another column', 'demerge', 'Name,identity\nAnn,u1\nCity,identity\nRome,u2\n'],
  [
    'with other columns in another order',
    'demerge',
    'identity,Name,City\nu1,Ann,Oslo\nName,identity,Plan\nBob,u2,free\n',
  ],
  [
    'of events',
    'upload',
    'ts,evtName,identity,n\n1795564800,A,u1,1\nts,evtName,identity,m\n1795564800,Rome,u2,1\n',
    '--type',
    'event',
  ],
  [
    'of opt-outs',
    'subscribe',
    'type,value,status\nemail,a@x.test,Unsubscribe\ntype,value,reason\nemail,u2@x.test,Unsubscribe\n',
  ],
  [
    'behind a file without a line end',
    'demerge',
    'identity,City\nu1,Oslo\nu3,BergenCity,identity\nRome,u2\n',
  ],
  [
    'with quotes behind a file without a line end',
    'upload',
    '"identity","City","Age"\n"u1","Oslo","1"\n"u3","Bergen",1"Age","City","identity"\n1,Rome,u2\n',
  ],
])('a joined file stops at the second header %s', async (_, command, text, ...flags) => {
  const { world, service } = await serve();
  writeFileSync(world.path('joined.csv'), text);
  const confirmed = command === 'demerge' ? ['--yes'] : [];
  const { code, stderr } = await world.run([command, 'joined.csv', ...flags, ...confirmed]);
  const error = 'E-HEADER: joined.csv: line 3 is the header of other columns';
  expect([code, stderr]).toEqual([8, expect.stringContaining(error)]);
  const bodies = service.requests().map(({ body }) => body);
  expect(JSON.stringify(bodies)).not.toMatch(/u2|Bob|Rome/);
});

it.each([
  ['users', 'upload', 'identity,City', 'u#,Oslo', 'City,identity'],
  [
    'events',
    'upload',
    'identity,Name',
    'u#,Ann',
    'Name,identity',
    '--type',
    'event',
    '--event-name',
    'Visit',
    '--ts',
    'now',
  ],
  [
    'opt-outs',
    'subscribe',
    'value,type',
    'u#@x.test,email',
    'type,value',
    '--status',
    'Unsubscribe',
  ],
])(
  'each row above the second header of joined %s is sent or in the rejects file',
  async (_, command, header, row, second, ...flags) => {
    const { world } = await serve();
    const rows = Array.from({ length: 9000 }, (__, n) => row.replace('#', String(n))).join('\n');
    const joined = `${header}\n${rows}\n${second}\nfree,${row}\n`;
    const options = [...flags, '--rejects', 'r.ndjson', '--json'];
    const { code, stdout } = await world.run([command, '-', ...options], { stdin: joined });
    const { accepted = 0, notSent = 0 } = JSON.parse(stdout) as Record<string, number>;
    expect([code, accepted + notSent]).toEqual([8, 9000]);
    const rejects = readFileSync(world.path('r.ndjson'), 'utf8').trimEnd().split('\n');
    expect(rejects).toHaveLength(notSent);
    writeFileSync(world.path('joined.csv'), joined);
    const file = await world.run([command, 'joined.csv', ...options]);
    expect([file.code, JSON.parse(file.stdout)]).toEqual([
      8,
      expect.objectContaining({ read: 9002 }),
    ]);
    writeFileSync(world.path('short.csv'), `${header}\n${row}\n${second}\n${row}\n`);
    const short = await world.run([command, 'short.csv', ...options]);
    expect([short.code, JSON.parse(short.stdout)]).toEqual([
      8,
      expect.objectContaining({ read: 3, accepted: 0 }),
    ]);
  },
);

it.each([
  ['E-HEADER', 'City,identity,Visits\nRome,u,1\n'],
  ['E-CSV-QUOTE', 'u,1,"Rome\n'],
])('%s after some of the increments of a file sends none of them', async (id, rest) => {
  const { world, service } = await serve();
  const row = (n: number) => `u${n},"{""$incr"":1}",Oslo\n`;
  const rows = Array.from({ length: 16_000 }, (_, n) => row(n)).join('');
  writeFileSync(world.path('v.csv'), `identity,Visits,City\n${rows}${rest}`);
  const upload = ['upload', 'v.csv', '--types', 'Visits:json'];
  const { code, stderr } = await world.run(upload);
  expect([code, stderr]).toEqual([8, expect.stringContaining(id)]);
  expect(service.requests()).toEqual([]);
  writeFileSync(world.path('v.csv'), `identity,Visits,City\n${rows}`); // corrected
  expect((await world.run(upload)).code).toBe(0);
});

it('a user may have a value that is the name of its column', async () => {
  const { world } = await serve();
  writeFileSync(world.path('u.csv'), 'identity,Pizza,Pasta\nu1,Pizza,Pasta\nu2,,Pasta\n');
  writeFileSync(world.path('survey.csv'), 'identity,1,2,3\n1,3,3,1\n2,1,2,3\n');
  for (const file of ['u.csv', 'survey.csv'])
    expect((await world.run(['upload', file])).code).toBe(0);
});

it.each(['r.ndjson', 'r.csv'])(
  '%s with a row that repeats the header rejects it again',
  async (file) => {
    const { world } = await serve();
    writeFileSync(world.path('joined.csv'), 'identity,City\nu1,Oslo\nidentity,City\nu2,Rome\n');
    const first = await world.run(['upload', 'joined.csv', '--rejects', file]);
    expect([first.code, first.stderr]).toEqual([3, expect.stringContaining('repeats the header')]);
    const { code, stdout } = await world.run(['upload', file, '--rejects', 'r2.ndjson', '--json']);
    expect([code, JSON.parse(stdout)]).toEqual([
      3,
      expect.objectContaining({ accepted: 0, rejected: 1 }),
    ]);
  },
);
