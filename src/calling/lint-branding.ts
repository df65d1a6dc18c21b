import {
  found,
  isHexColour,
  isProperties,
  isUrl,
  unknownKeys,
  type Findings,
} from './init-finding.js';

const known = ['bgColor', 'fontColor', 'logoUrl', 'buttonTheme', 'showPoweredBySignedCall'];

/** What is to be said of overrideDefaultBranding. Each of its keys is optional. */
export function* lintBranding(branding: unknown): Findings {
  const at = 'overrideDefaultBranding';
  if (!isProperties(branding)) {
    yield found([at], 'type', 'BRANDING', 'must be an object');
    return;
  }
  const { bgColor, fontColor, logoUrl, buttonTheme, showPoweredBySignedCall } = branding;
  for (const [name, colour] of Object.entries({ bgColor, fontColor })) {
    if (colour !== undefined && !isHexColour(colour))
      yield found([at, name], 'hex-colour', 'BRANDING', 'must be #RGB, #RRGGBB or #AARRGGBB');
  }
  if (logoUrl !== undefined && !isUrl(logoUrl, 'https'))
    yield found([at, 'logoUrl'], 'url', 'BRANDING', 'must be an https URL');
  if (buttonTheme !== undefined && buttonTheme !== 'light' && buttonTheme !== 'dark')
    yield found([at, 'buttonTheme'], 'choice', 'BRANDING', 'must be light or dark');
  if (showPoweredBySignedCall !== undefined && typeof showPoweredBySignedCall !== 'boolean')
    yield found([at, 'showPoweredBySignedCall'], 'type', 'BRANDING', 'must be true or false');
  yield* unknownKeys(branding, known, [at]);
}
