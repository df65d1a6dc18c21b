/** The softphone of the page, made of `engagectl/calling`, in the words of script.ts. */
export const pageSoftphone = String.raw`
const sdk = '/page/calling/index.js';
let phone, phoneUser, ringing, other;
const phoneStates = { NoCall: 'no call', OutgoingCall: 'calls', IncomingCall: 'is called by', OngoingCall: 'is in a call with' };

function note(words) {
  find('phone-events').append(make('li', {}, isoTime(Date.now()).slice(11) + ' ' + words));
  find('phone-events').scrollTop = find('phone-events').scrollHeight;
}
function drawPhone() {
  const state = phone?.getCallState() ?? 'NoCall';
  const focused = document.activeElement;
  const about = state === 'NoCall' ? '' : ' ' + other;
  find('phone-in').hidden = phone !== undefined;
  find('phone').hidden = phone === undefined;
  find('phone-state').textContent = (phoneUser ?? '') + ': ' + phoneStates[state] + about;
  find('dial').hidden = state !== 'NoCall';
  find('take').hidden = find('decline').hidden = state !== 'IncomingCall';
  find('hang-up').hidden = state === 'NoCall' || state === 'IncomingCall';
  find('calls-tab').textContent = state === 'IncomingCall' ? 'Calls: it rings' : 'Calls';
  // Keyboard users continue in the part of the phone that is visible now.
  if (find('calls').contains(focused) && !focused.checkVisibility())
    [find('phone-in').elements.cuid, find('dial').elements.to, find('take'), find('hang-up')].find((one) => one.checkVisibility())?.focus();
}
/** Shows what the SDK says of a request to it. */
async function report(answer) {
  find('phone-error').textContent = '';
  const { error } = await answer;
  if (error) find('phone-error').textContent = error.errorName + ': ' + error.errorDescription;
  drawPhone();
  return error === null;
}
/** The same device at each visit, so that it gets its cuid again, and the calls that wait for it. */
function deviceId() {
  const made = () => Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => byte.toString(16).padStart(2, '0')).join('');
  const id = localStorage.getItem('device') ?? made();
  localStorage.setItem('device', id);
  return id;
}

find('phone-in').addEventListener('submit', (event) => {
  event.preventDefault();
  const { cuid: { value: cuid }, voice } = event.target.elements;
  tried(async () => {
    const { account } = await ask('GET', 'calls/account');
    if (!account) throw new Error('This service routes no calls');
    const { createSignedCall, noMedia, webrtc } = await import(sdk);
    const media = voice.checked ? webrtc() : noMedia;
    const log = (line) => note(line.replace(/^SignedCall: | call [0-9a-f-]{36}/g, ''));
    // Whoever has the passcode may register with any cuid. A router that requires no tokens signs none.
    const token = async () => (await ask('POST', 'calls/token', { cuid })).token ?? undefined;
    const client = createSignedCall({ url: location.origin, core: account, media, log, deviceId: deviceId(), token });
    client.addListener(client.SignedCallOnCallStatusChanged, ({ direction, callEvent, callDetails }) => {
      if (callEvent === 'CallIsPlaced') other = callDetails.calleeCuid + ' about ' + callDetails.callContext;
      drawPhone();
    });
    client.onIncomingCall(({ callId, callDetails }) => {
      ringing = callId;
      other = callDetails.callerCuid + ' about ' + callDetails.callContext;
      note('rings: ' + other);
      drawPhone();
    });
    const properties = { ...account, cuid, allowPersistSocketConnection: true };
    if (!(await report(client.initialize(properties)))) return client.close();
    [phone, phoneUser] = [client, cuid];
    note(phoneUser + ' is registered');
    drawPhone();
  });
});
find('dial').addEventListener('submit', (event) => {
  event.preventDefault();
  const { to, about } = event.target.elements;
  other = to.value + ' about ' + about.value;
  void report(phone.call(to.value, about.value));
  drawPhone();
});
find('take').addEventListener('click', () => report(phone.answer(ringing)));
find('decline').addEventListener('click', () => report(phone.decline(ringing)));
find('hang-up').addEventListener('click', () => phone.hangup());
find('phone-out').addEventListener('click', () => {
  phone.logout();
  note(phoneUser + ' is logged out');
  phone = phoneUser = undefined;
  drawPhone();
});
addEventListener('pagehide', () => phone?.close());
`;
