import type { Database } from '../store/database.js';
import { changeProfile } from '../store/change-profile.js';
import { addEvent } from '../store/events.js';
import type { Call } from './user.js';

/**
 * Writes a call's end as system events (calling.md §6): SCOutgoing and SCEnd of the initiator's
 * profile, SCIncoming of the receiver's. A profile whose identity is the cuid is made when there is
 * none. `cuid` is the other party; `epoch` is when the call was placed, in seconds.
 */
export function saveSystemEvents(store: Database, call: Call): void {
  const { id, details, placedAt, endedAt = placedAt, ending } = call;
  const ts = Math.floor(endedAt / 1000);
  const add = (name: string, own: string, other: string): void => {
    const profile = changeProfile(store, [{ kind: 'identity', value: own }], (same) => same).id;
    const props = JSON.stringify({
      call_id: id,
      cuid: other,
      context: details.callContext,
      epoch: Math.floor(placedAt / 1000),
      call_status: ending?.status,
      reason: ending?.reason,
      reason_code: ending?.reasonCode,
    });
    addEvent(store, { name, profile, ts, props });
  };
  const { callerCuid, calleeCuid } = details;
  add('SCOutgoing', callerCuid, calleeCuid);
  add('SCIncoming', calleeCuid, callerCuid);
  add('SCEnd', callerCuid, calleeCuid);
}
