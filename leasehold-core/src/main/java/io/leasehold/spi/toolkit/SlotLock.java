package io.leasehold.spi.toolkit;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.spi.OwnerToken;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The exclusive lock that is one slot of permits: slot 3 of {@code db} is the lock {@code db#3}. Pure.
 *
 * <p>The holder id of its holder begins with a mark, which states the count: {@code permit of 5: web-1/4711/9f3a2b1c}.
 * Its owner token contains the number of the slot.
 *
 * @param permits the permits
 * @param slot the number of the slot
 */
record SlotLock(LockName permits, int slot) {

    /** The largest length of a name of permits, in bytes of UTF-8: the names of all its slots are valid. */
    static final int MAX_NAME_BYTES = LockName.MAX_BYTES - 4;

    private static final Pattern LOCK = Pattern.compile("(.+)#(0|[1-9][0-9]{0,2})", Pattern.DOTALL);
    private static final Pattern MARK = Pattern.compile("permit of ([1-9][0-9]{0,3}): (.*)", Pattern.DOTALL);

    /** The digits of an owner token before the mark of one with a slot; four digits of the slot follow that mark. */
    private static final int RANDOM_DIGITS = 24;

    private static final String TOKEN_MARK = "51a7";
    private static final int SLOT_AT = RANDOM_DIGITS + 4;
    private static final int REST_AT = SLOT_AT + 4;

    /** Reads the name of a lock; empty if it is not that of a slot. */
    static Optional<SlotLock> read(LockName lock) {
        Matcher parts = LOCK.matcher(lock.text());
        if (lock.isPermits() || !parts.matches()) {
            return Optional.empty();
        }
        try {
            LockName permits = LockName.exactly(parts.group(1)).asPermits();
            return Optional.of(new SlotLock(permits, Integer.parseInt(parts.group(2))));
        } catch (IllegalArgumentException notAName) {
            return Optional.empty();
        }
    }

    /** The name of the lock. */
    LockName name() {
        return LockName.exactly(permits.text() + "#" + slot);
    }

    // ---- holders

    /** The holder id with the count that its client states. */
    static String marked(String holderId, int count) {
        return "permit of " + count + ": " + holderId;
    }

    /** The count that a holder states; empty if it holds no permit. */
    static OptionalInt countOf(Holder holder) {
        Matcher parts = MARK.matcher(holder.id());
        return parts.matches() ? OptionalInt.of(Integer.parseInt(parts.group(1))) : OptionalInt.empty();
    }

    /** The holder with the id of its client. */
    static Holder unmarked(Holder holder) {
        Matcher parts = MARK.matcher(holder.id());
        return parts.matches()
                ? new Holder(parts.group(2), holder.remainingTtl(), holder.fencingToken(), holder.ends())
                : holder;
    }

    /** The held lock with the id of its holder's client, if it is that of a slot. */
    static HeldLock unmarked(HeldLock held) {
        return read(held.name()).isPresent() ? new HeldLock(held.name(), unmarked(held.holder())) : held;
    }

    // ---- owner tokens

    /** Binds an owner token to the slot; 128 of its bits stay as they are. */
    OwnerToken bound(OwnerToken drawn) {
        String digits = drawn.hex();
        String number = String.format(Locale.ROOT, "%04x", slot);
        return OwnerToken.fromHex(
                digits.substring(0, RANDOM_DIGITS) + TOKEN_MARK + number + digits.substring(REST_AT));
    }

    /** The slot of these permits to which an owner token is bound; empty if it is bound to none. */
    static Optional<SlotLock> boundBy(OwnerToken owner, LockName permits) {
        String digits = owner.hex();
        if (!digits.startsWith(TOKEN_MARK, RANDOM_DIGITS)) {
            return Optional.empty();
        }
        int slot = Integer.parseInt(digits.substring(SLOT_AT, REST_AT), 16);
        return slot < LockName.MAX_PERMITS ? Optional.of(new SlotLock(permits, slot)) : Optional.empty();
    }
}
