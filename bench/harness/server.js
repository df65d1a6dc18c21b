import { fork } from 'node:child_process';
import { once } from 'node:events';

/**
 * Starts a server program in a process of its own. `reset(how)` makes it forget what arrived,
 * `arrived()` asks what did since. The program speaks through `serveParent` below.
 */
export async function startServer(program, ...args) {
  const child = fork(program, args.map(String), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ask = async (message) => {
    child.send(message);
    const [answer] = await once(child, 'message');
    return answer;
  };
  const [{ url }] = await once(child, 'message');
  return {
    url,
    reset: (how = {}) => ask({ reset: how }),
    arrived: () => ask({ arrived: true }),
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/** Runs in the child process: reports the address, answers messages, and exits with the parent. */
export function serveParent(server, { reset, arrived }) {
  server.listen(0, '127.0.0.1', () => {
    process.send({ url: `http://127.0.0.1:${server.address().port}` });
  });
  process.on('message', (message) => {
    if (message.reset) reset(message.reset);
    process.send(arrived());
  });
  process.on('disconnect', () => process.exit(0));
}
