// As little as an export can do: receives every page and looks for nothing but the next cursor.
// Usage: export-floor.js <base url>
import { Pool } from 'undici';

const pool = new Pool(process.argv[2], { connections: 1 });
const first = await pool.request({ method: 'POST', path: '/1/profiles.json', body: '{}' });
let { cursor } = await first.body.json();
while (cursor) {
  const page = await pool.request({ method: 'GET', path: `/1/profiles.json?cursor=${cursor}` });
  cursor = undefined;
  let isFirst = true;
  for await (const chunk of page.body) {
    if (isFirst) cursor = /"next_cursor":"([^"]+)"/.exec(chunk.toString('latin1', 0, 4096))?.[1];
    isFirst = false;
  }
}
await pool.close();
