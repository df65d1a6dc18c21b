import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { containsSecret, redactor, typedSecretsRemover } from '../../src/redact.js';
import { runs } from '../support/property-runs.js';

const shown = redactor('s3cret-77Q');

describe('D the length of redacted text', () => {
  it('is limited: up to 2,200 characters are shown whole, and 2,000 of longer texts', () => {
    const whole = 'x'.repeat(2200);
    expect(shown(whole)).toBe(whole);
    expect(shown(`${whole}x`)).toBe(`${'x'.repeat(2000)}… (201 more)`);
  });

  it('counts characters that were not processed', () => {
    const length = 3 * 2 ** 20;
    expect(shown('x'.repeat(length))).toBe(`${'x'.repeat(2000)}… (${length - 2000} more)`);
  });

  it('counts from the end of the text if masking made it longer', () => {
    const mask = redactor('ab');
    // Each pair becomes ten characters.
    expect(mask('ab '.repeat(1101)).endsWith(`… (${11 * 1101 - 2000} more)`)).toBe(true);
  });

  it('does not cut a character of two code units in half', () => {
    const text = shown(`${'x'.repeat(1999)}🏔${'y'.repeat(500)}`);
    expect(text).toBe(`${'x'.repeat(1999)}… (502 more)`);
    const next = shown(`${'x'.repeat(1998)}🏔${'y'.repeat(500)}`);
    expect(next).toBe(`${'x'.repeat(1998)}🏔… (500 more)`);
  });

  it('is not truncated again when the text is redacted twice', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1900, max: 1_200_000 }), (length) => {
        const once = shown('x'.repeat(length));
        expect(shown(once)).toBe(once);
      }),
    );
  });

  it('is truncated only after the passcode was masked', () => {
    for (let before = 1980; before <= 2000; before += 1) {
      const text = shown(`${'x'.repeat(before)}s3cret-77Q${'y'.repeat(500)}`);
      expect(text).not.toMatch(/s3cr?/);
    }
  });
});

describe('D line breaks and spaces', () => {
  it.each(['\n', '\r\n', '\v', '\f', '\u0085', '\u2028', '\u2029', ' \n\t'])(
    'a run of whitespace with a line break becomes one space (%j)',
    (space) => expect(shown(`a${space}b${space}c`)).toBe('a b c'),
  );

  it('other whitespace stays unchanged', () => expect(shown('a  b\t\tc')).toBe('a  b\t\tc'));
});

describe('a passcode', () => {
  const masks = (passcode: string, spelling: string) =>
    expect(redactor(passcode)(`<${spelling}> and <${spelling}>`), spelling).toBe(
      '<[passcode]> and <[passcode]>',
    );

  it.each([
    ['s3cret-77Q', 'S3CRET-77q'],
    ['two words', 'two+words'],
    ['two words', 'two\n    words'],
    ['two words', 'two\u00a0words'],
    ['two words', 'two&nbsp;words'],
    ['two   words', 'two   words'],
    ['two   words', 'two%20%20%20words'],
    ['two   words', 'two words'],
    ['a<b', 'a&lt;b'],
    ['a<b', 'a&amp;lt;b'],
    ['a<b', 'a&amp;amp;amp;amp;lt;b'],
    ['a>"\'b', 'a&gt;&quot;&apos;b'],
    ['a&b', 'a&amp;b'],
    ['a_b', 'a&lowbar;b'],
    ['päss', 'p&auml;ss'],
    ['a&b', 'a&amp;amp;amp;amp;b'],
    ['ab', '&#97;&#0000098;'],
    ['ab', '&#x61;&#X000062;'],
    ['ab', '&amp;amp;#97;b'],
    ['ab', '%61%62'],
    ['ab', '%2525252561b'],
    ['ab', `${'\\'.repeat(16)}a${'\\'.repeat(16)}b`],
    ['ab', '\\u0061\\x62'],
    ['ab', `${'\\'.repeat(17)}u0061b`],
    ['a\tb', 'a\\u0009b'],
    ['a\\b', 'a\\\\\\\\b'],
    ['ab\\', 'ab\\\\\\\\'],
    ['päss', 'p%c3%a4ss'],
    ['päss', 'p%e4ss'],
    ['päss', 'p\\xc3\\xa4ss'],
    ['päss', 'p\u00c3\u00a4ss'],
    ['päss', 'p\uFFFDss'],
    ['p\u0080ss', 'p\uFFFDss'],
    ['a.b', 'a.b'],
  ])('%j is masked each time it is spelled %j', masks);

  it('is matched literally, without wildcards', () => {
    expect(redactor('a.b*c')('axb*c a.bbc')).toBe('axb*c a.bbc');
  });

  it.each(['abcdef', '>>>???', 'pässwörd'])(
    '%j is masked in hexadecimal and base64',
    (passcode) => {
      for (const encoding of ['utf8', 'latin1'] as const) {
        const bytes = Buffer.from(passcode, encoding);
        masks(passcode, bytes.toString('hex'));
        masks(passcode, bytes.toString('hex').toUpperCase());
        const digits = bytes.toString('hex').match(/../g)!;
        for (const separator of [':', ' ', '-', ', ', ',0x', ', 0x', ' 0x', '\n'])
          masks(passcode, digits.join(separator));
        masks(passcode, bytes.toString('hex').replaceAll(/..../g, '$& ').trim()); // as xxd prints it
        for (let before = 0; before < 4; before += 1) {
          for (let after = 0; after < 4; after += 1) {
            const around = Buffer.concat([
              Buffer.alloc(before, 'u'),
              bytes,
              Buffer.alloc(after, 'v'),
            ]);
            const base64 = around.toString('base64');
            const spellings = [
              base64,
              around.toString('base64url'),
              encodeURIComponent(base64),
              base64.replaceAll('+', '\\u002b').replaceAll('/', '\\/'),
            ];
            for (const spelling of spellings) {
              const text = redactor(passcode)(spelling);
              expect(text, spelling).toContain('[passcode]');
              // Not even a letter is left that it shares with its neighbors.
              const [plain, mask] = [base64.replace(/=*$/, ''), '[passcode]'];
              const ownStart = Math.floor((8 * before) / 6);
              const ownEnd = Math.ceil((8 * (before + bytes.length)) / 6);
              if (spelling === base64)
                expect(text.replace(/=*$/, ''), spelling).toBe(
                  `${plain.slice(0, ownStart)}${mask}${plain.slice(ownEnd)}`,
                );
              expect(text.length, spelling).toBeLessThanOrEqual(mask.length + 3 * 6 + 4);
            }
          }
        }
      }
    },
  );

  it('of fewer than six characters is not searched in encodings, where it may occur by chance', () => {
    for (const [passcode, isFound] of [
      ['abcde', false],
      ['abcdef', true],
    ] as const) {
      const hex = Buffer.from(passcode).toString('hex');
      expect(redactor(passcode)(hex)).toBe(isFound ? '[passcode]' : hex);
      expect(containsSecret(passcode)(hex)).toBe(isFound);
      expect(containsSecret(passcode)(`x${passcode}`)).toBe(isFound);
      expect(containsSecret(passcode)(passcode)).toBe(isFound);
      expect(containsSecret(passcode)('another word')).toBe(false);
    }
  });
});

// A text with a character outside of ASCII is searched for escapes as well.
it('masks the same in a text without escapes as in one that may have escapes', () => {
  const letters = Array.from('aB0 +/&%\\<."-ä');
  const passcodes = fc.oneof(
    fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 12 }),
    fc.string({ minLength: 1, maxLength: 12 }),
  );
  const texts = passcodes.chain((passcode) => {
    const bytes = Buffer.concat([Buffer.from('u'), Buffer.from(passcode), Buffer.from('v')]);
    const spellings = fc.constantFrom(
      passcode,
      passcode.toUpperCase(),
      passcode.replaceAll(' ', '+'),
      JSON.stringify(passcode),
      JSON.stringify(JSON.stringify(passcode)),
      bytes.toString('hex'),
      bytes.toString('base64'),
      bytes.toString('base64url'),
      bytes.subarray(1).toString('base64'),
      '[passcode]',
      '\\',
      '"',
      ' ',
      'a',
    );
    return fc.tuple(fc.constant(passcode), fc.array(spellings, { maxLength: 6 }));
  });
  fc.assert(
    fc.property(texts, ([passcode, parts]) => {
      const text = parts.join('');
      expect(redactor(passcode)(`${text} ☃`)).toBe(`${redactor(passcode)(`${text} `)}☃`);
    }),
    { numRuns: 200 },
  );
});

describe('a secret of any length', () => {
  const letters = Array.from('aZ09 "\\%&<+/._-äÿ');
  const secretOf = (length: number, seed: number) => {
    let state = seed;
    const next = () => {
      state = (state * 48_271) % (2 ** 31 - 1);
      return letters[(state >> 8) % letters.length]!;
    };
    return `a${Array.from({ length: length - 2 }, next).join('')}z`.slice(0, length);
  };
  const secrets = fc.record({
    length: fc.integer({ min: 1, max: 5000 }),
    seed: fc.integer({ min: 1, max: 2 ** 20 }),
  });
  const bytes = (text: string) => [...Buffer.from(text)];
  const hex = (byte: number) => byte.toString(16).padStart(2, '0');
  const spellings: Readonly<Record<string, (secret: string) => string>> = {
    plain: (secret) => secret,
    'JSON within JSON': (secret) => JSON.stringify(JSON.stringify(secret)),
    percent: (secret) =>
      bytes(secret)
        .map((byte) => `%${hex(byte)}`)
        .join(''),
    URL: encodeURIComponent,
    HTML: (secret) => Array.from(secret, (letter) => `&#${letter.charCodeAt(0)};`).join(''),
    hexadecimal: (secret) => Buffer.from(secret).toString('hex'),
    base64: (secret) => Buffer.from(`u${secret}v`).toString('base64'),
    'letters with invisible ones between them': (secret) => Array.from(secret).join('\u200B'),
  };
  /** A part of 16 characters of a spelled secret that a text shows. */
  const partIn = (text: string, spelled: string) => {
    for (let at = 0; at + 16 <= spelled.length; at += 1)
      if (text.includes(spelled.slice(at, at + 16))) return spelled.slice(at, at + 16);
    return undefined;
  };

  it.each(Object.keys(spellings))('is masked, spelled as %s', (name) => {
    const check = fc.property(secrets, fc.constantFrom('', 'café %41 '), (of, before) => {
      const secret = secretOf(of.length, of.seed);
      const spelled = spellings[name]!(secret);
      const text = `bad key: ${before}${spelled}.`;
      const isShort = secret.length < 16; // of which no test asks
      expect(isShort ? undefined : partIn(redactor(secret)(text), spelled)).toBeUndefined();
      if (isShort || secret.length > 4096) return;
      const remove = typedSecretsRemover([], { ENGAGECTL_PASSCODE: secret });
      expect(partIn(remove!(text), spelled)).toBeUndefined();
    });
    fc.assert(check, { numRuns: runs(20) });
  });

  it('of some thousand characters becomes one mask', () => {
    for (const length of [101, 2500, 4096]) {
      const secret = secretOf(length, length);
      for (const text of ['in %s, twice: %s', 'café: %s, %s'])
        expect(redactor(secret)(text.replaceAll('%s', () => secret))).toBe(
          text.replaceAll('%s', '[passcode]'),
        );
      expect(containsSecret(secret)(`x${secret}x`)).toBe(true);
      expect(containsSecret(secret)(`x${'another word'.repeat(9)}é`)).toBe(false);
    }
  });

  it('of 64 characters is masked but for its last piece if a text is cut within it', () => {
    const secret = secretOf(64, 64);
    expect(redactor(secret)(`bad passcode ${secret.slice(0, 60)}...`)).toBe(
      `bad passcode [passcode]${secret.slice(42, 60)}...`,
    );
  });

  it.each(['changeme'.repeat(7), 'abcdefgh'.repeat(8), 'a'.repeat(64)])(
    'that repeats itself is masked as a whole: %s',
    (secret) => {
      expect(redactor(secret)(`bad ${secret}, ${secret}${secret}.`)).toBe(
        'bad [passcode], [passcode].',
      );
      const removed = typedSecretsRemover([], { ENGAGECTL_PASSCODE: secret })!;
      expect(removed(`bad ${secret}x`)).toBe('bad [redacted]x');
    },
  );

  it('with many spaces is searched in linear time', () => {
    const secret = `aaaa${' '.repeat(12)}bbbb`;
    const text = `aaaa${' '.repeat(56)}\n`.repeat(1000);
    expect(redactor(secret)(text)).toContain('aaaa');
    expect(redactor(secret)(`<${secret}>`)).toBe('<[passcode]>');
  });

  it('is not shown without its end from behind a megabyte of white space', () => {
    const secret = secretOf(30, 30);
    const text = `bad${'\n'.repeat(2 ** 20 - 3 - 29)}${secret} passcode`;
    expect(redactor(secret)(text).trim()).toBe('bad');
  });

  it('is removed if it was typed, even as long as a variable can be', () => {
    const secret = secretOf(100_000, 7);
    const remove = typedSecretsRemover([], { ENGAGECTL_PASSCODE: secret });
    for (const text of [`no ${secret} here`, `no ${secret} here: café`])
      expect(partIn(remove!(text), secret)).toBeUndefined();
  });
});
