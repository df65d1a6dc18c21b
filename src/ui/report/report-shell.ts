import { createHash } from 'node:crypto';
import { html, type Html } from './html.js';
import { style } from './style.js';

/** By which a file is known to be a report, and may be replaced by the next one. */
export const generatorTag = '<meta name="generator" content="engagectl">';

/** The policy lets the browser fetch and run nothing, whatever a reject says. */
const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`;

/** A page that needs nothing besides. */
export const reportShell = (title: string, body: Html): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
${generatorTag}
<meta name="robots" content="noindex">
${html`<title>${title}</title>`.text}
<style>${style}</style>
</head>
<body>
${body.text}
</body>
</html>
`;
