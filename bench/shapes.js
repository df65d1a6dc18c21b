// Records of exports, of shapes that cost a reader and a writer of CSV different things.
import { randomOf } from '../fixtures/random.js';

const cities = ['Oslo', 'Paris', 'Zürich', 'São Paulo', '東京', 'Kraków', 'London'];
const words = 'she asked, again, whether the parcel of Monday had left the house or not'.split(' ');

const plain = (n, random) => ({
  identity: `user-${n}`,
  email: `user${n}@example.test`,
  name: `Anna ${n}`,
  profileData: {
    City: random.pick(cities),
    Plan: random.pick(['free', 'pro', 'enterprise']),
    Points: random.below(1_000_000),
    Score: random.below(10_000) / 100,
    Active: random.chance(0.5),
    Referrer: `https://example.test/campaign/${random.below(100)}`,
    Joined: `2026-10-${10 + random.below(18)}T08:00:00Z`,
  },
});

/** `length` characters of words, with a comma here and there. */
function longText(length, random) {
  let text = random.pick(words);
  while (text.length < length) text += ` ${random.pick(words)}`;
  return text.slice(0, length);
}

/** Each makes record `n` as JSON text. */
export const recordShapes = {
  plain: (n, random) => JSON.stringify(plain(n, random)),

  escapes: (n, random) =>
    JSON.stringify({
      ...plain(n, random),
      note: `said "call me at ${n}", from Z\u00fcrich`,
      title: `the \u00fc of "${random.pick(cities)}"`,
    }).replaceAll('ü', '\\u00fc'),

  texts: (n, random) => JSON.stringify({ ...plain(n, random), text: longText(400, random) }),

  arrays: (n, random) =>
    JSON.stringify({
      ...plain(n, random),
      items: Array.from({ length: 5 }, (_, k) => ({
        sku: `A-${random.below(10_000)}`,
        quantity: k + 1,
        price: random.below(10_000) / 100,
        tags: ['new', random.pick(words)],
      })),
    }),

  sparse: (n, random) => {
    const profileData = {};
    for (let column = random.below(20); column < 300; column += 1 + random.below(30)) {
      profileData[`Attribute ${column}`] = `value ${random.below(1000)}`;
    }
    return JSON.stringify({ identity: `user-${n}`, profileData });
  },

  events: (n, random) =>
    JSON.stringify({ ts: 20_261_001_080_000 + random.below(9999), event_props: { n } }),
};

/** The inside of a page's `records`. */
export function shapedRecords(shape, count, seed) {
  const random = randomOf(seed + 1);
  const records = Array.from({ length: count }, (_, n) => recordShapes[shape](n, random));
  return Buffer.from(records.join(','));
}
