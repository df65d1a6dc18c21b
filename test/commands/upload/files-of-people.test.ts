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
  /** Data of the user `u1`. */
  readonly data: object;
}

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
    text: 'user_id,City,Email\nu1, Oslo ,a@example.com \n u2,Rome,b@example.com\n',
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
};

it.each(Object.entries(samples))(
  'takes %s without an edit',
  async (_, { name, text, flags = [], data }) => {
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
    const { stdout } = await world.run(['get-profile', 'u1']);
    const { profileData } = JSON.parse(stdout) as { profileData: object };
    expect([profileData, readFileSync(world.path('m.json'), 'utf8')]).toEqual([
      expect.objectContaining(data),
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

it('states the evidence for each format', async () => {
  const { world } = await serve();
  writeFileSync(world.path('a.csv'), 'id;seen\nu1;31.12.1990\nu2;01.02.1985\n');
  const { stderr } = await world.run(['upload', 'a.csv', '--preview', '--write-mapping', 'm.json']);
  expect(stderr).toContain('"seen": date(DD.MM.YYYY): ');
  expect(stderr).toMatch(/2 distinct values fit, such as "31\.12\.1990"\n/);
});
