// Loaded before a worker (`node --require`): its clock jumps by ENGAGECTL_CLOCK_JUMP milliseconds, two seconds after its start.
const { now } = Date;
const start = now();
Date.now = () => now() + (now() - start < 2000 ? 0 : Number(process.env.ENGAGECTL_CLOCK_JUMP));
