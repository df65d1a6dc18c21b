import { faultActions } from '../control/fault-rules.js';
import { endpointNames } from '../../contract/endpoints.js';
import { pageSoftphone } from './softphone.js';
import { variantValues } from '../settings.js';
import { pageViews } from './views.js';

/** Script of the page: sign-in, requests to the service, drawing, and switching between views. */
export const pageScript = `'use strict';
const endpoints = ${JSON.stringify(endpointNames)};
const variants = ${JSON.stringify(variantValues)};
const actions = ${JSON.stringify(faultActions)};
const find = (id) => document.getElementById(id);
// Kept in memory only, so that neither the disk nor another page of this origin has the passcode.
let account = null;
let prefix = 'X-Service';

/** Sends a control request; returns the parsed response, throws its error. */
async function ask(method, path, body) {
  const headers = { 'Content-Type': 'application/json' };
  headers[prefix + '-Account-Id'] = account.id;
  headers[prefix + '-Passcode'] = account.passcode;
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const answer = await fetch('/_local/' + path, init);
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.error), { status: answer.status });
  return value;
}

/** Creates an element with properties and children; text is never parsed as HTML. */
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}
function draw(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const cell = (...children) => make('td', {}, ...children);
const text = (value) => make('td', { className: 'text' }, String(value ?? ''));
const row = (...cells) => make('tr', {}, ...cells);
const button = (label, onclick) => make('button', { type: 'button', onclick }, label);
const link = (label, onclick) => make('button', { type: 'button', className: 'link', onclick }, label);
const fill = (id, rows) => find(id).replaceChildren(...rows);
const isoTime = (time) => new Date(time).toISOString().replace('T', ' ').slice(0, 19);
const formatValue = (value) => (typeof value === 'string' ? value : JSON.stringify(value));

/** Runs \`work\` and shows its error on the page. */
async function tried(work) {
  try {
    await work();
    find('state').textContent = 'account ' + account.id + ' at ' + location.host;
  } catch (error) {
    find('state').textContent = error.message;
    if (error.status === 401) signOut();
  }
}

${pageViews}
${pageSoftphone}

const views = { users: showUsers, events: showEvents, requests: showRequests, cursors: showCursors, faults: showFaults,
  settings: showSettings, snapshots: showSnapshots, calls: showCalls };
let view;
function show(name) {
  view = name;
  for (const tab of document.querySelectorAll('nav button')) {
    const isCurrent = tab.dataset.view === name;
    if (isCurrent) tab.setAttribute('aria-current', 'page');
    else tab.removeAttribute('aria-current');
    find(tab.dataset.view).hidden = !isCurrent;
  }
  return tried(views[name]);
}
const tabs = [...document.querySelectorAll('nav button')];
for (const [at, tab] of tabs.entries()) {
  tab.addEventListener('click', () => show(tab.dataset.view));
  tab.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step) tabs[(at + step + tabs.length) % tabs.length].focus();
  });
}
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.matches('input, select')) return;
  event.preventDefault();
  show('users');
  // At once, not when the users have loaded: text typed until then would be lost.
  find('search').focus();
});
const live = { requests: showRequests, cursors: showCursors, faults: showFaults, calls: showCalls };
setInterval(() => { if (account && live[view] && !document.hidden) tried(live[view]); }, 1000);

async function signIn() {
  try {
    await ask('GET', 'clock');
  } catch (error) {
    find('state').textContent = error.message;
    return signOut();
  }
  find('sign-in').hidden = true;
  find('rooms').hidden = false;
  await show('users');
}
function signOut() {
  account = null;
  find('sign-in').hidden = false;
  find('rooms').hidden = true;
}
find('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  const { account: id, passcode } = event.target.elements;
  account = { id: id.value, passcode: passcode.value };
  signIn();
});
prefix = document.documentElement.dataset.prefix ?? prefix;
const linked = new URLSearchParams(location.hash.slice(1));
if (linked.has('passcode')) {
  account = { id: linked.get('account'), passcode: linked.get('passcode') };
  // Keeps the passcode out of history and bookmarks.
  history.replaceState(null, '', '/');
}
if (account) signIn();
`;
