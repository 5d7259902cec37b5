package io.leasehold.spi.toolkit;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.spi.OwnerToken;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalInt;

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

    private static final String BEFORE_COUNT = "permit of ";
    private static final String AFTER_COUNT = ": ";

    /** The digits of an owner token before the mark of one with a slot; four digits of the slot follow that mark. */
    private static final int RANDOM_DIGITS = 24;

    private static final String TOKEN_MARK = "51a7";
    private static final int SLOT_AT = RANDOM_DIGITS + 4;
    private static final int REST_AT = SLOT_AT + 4;

    /** Reads the name of a lock; empty if it is not that of a slot. */
    static Optional<SlotLock> read(LockName lock) {
        String text = lock.text();
        int mark = text.lastIndexOf('#');
        OptionalInt slot = mark < 1 || lock.isPermits() ? OptionalInt.empty() : number(text.substring(mark + 1));
        String permits = text.substring(0, Math.max(0, mark));
        return slot.isEmpty() || slot.getAsInt() >= LockName.MAX_PERMITS || permits.isBlank()
                ? Optional.empty()
                : Optional.of(new SlotLock(LockName.exactly(permits).asPermits(), slot.getAsInt()));
    }

    /** The number that these digits are, without a leading zero and at most four. */
    private static OptionalInt number(String digits) {
        boolean isNumber = !digits.isEmpty()
                && digits.length() <= 4
                && digits.chars().allMatch(c -> c >= '0' && c <= '9')
                && (digits.length() == 1 || digits.charAt(0) != '0');
        return isNumber ? OptionalInt.of(Integer.parseInt(digits)) : OptionalInt.empty();
    }

    /** The name of the lock. */
    LockName name() {
        return LockName.exactly(permits.text() + "#" + slot);
    }

    // ---- holders

    /** The holder id with the count that its client states. */
    static String marked(String holderId, int count) {
        return BEFORE_COUNT + count + AFTER_COUNT + holderId;
    }

    /** The count that a holder states; empty if it holds no permit. */
    static OptionalInt countOf(Holder holder) {
        String id = holder.id();
        int end = id.startsWith(BEFORE_COUNT) ? id.indexOf(AFTER_COUNT) : -1;
        OptionalInt count = end < 0 ? OptionalInt.empty() : number(id.substring(BEFORE_COUNT.length(), end));
        return count.orElse(0) > 0 ? count : OptionalInt.empty();
    }

    /** The holder with the id of its client. */
    static Holder unmarked(Holder holder) {
        if (countOf(holder).isEmpty()) {
            return holder;
        }
        String id = holder.id().substring(holder.id().indexOf(AFTER_COUNT) + AFTER_COUNT.length());
        return new Holder(id, holder.remainingTtl(), holder.fencingToken(), holder.ends());
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
        return OwnerToken.fromHex(digits.substring(0, RANDOM_DIGITS) + TOKEN_MARK + number + digits.substring(REST_AT));
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
