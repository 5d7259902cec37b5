package io.leasehold.spi.toolkit;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.spi.OwnerToken;
import java.time.Duration;
import java.util.OptionalLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of the names, marks and owner tokens of slots. */
@Tag("quick")
final class SlotLockTest {

    private static final LockName PERMITS = LockName.exactly("db").asPermits(5);
    private static final OwnerToken DRAWN = OwnerToken.fromHex("0123456789abcdef0123456789abcdef01234567");

    private static Holder holder(String id) {
        return new Holder(id, Duration.ofSeconds(3), OptionalLong.of(7));
    }

    @Test
    void theNameOfEachSlotIsReadBack() {
        for (int slot : new int[] {0, 1, 9, 10, 99, 100, 999}) {
            LockName name = new SlotLock(PERMITS, slot).name();
            assertThat(name).isEqualTo(LockName.exactly("db#" + slot));
            assertThat(name.isPermits()).isFalse();
            assertThat(SlotLock.read(name)).contains(new SlotLock(PERMITS, slot));
        }
        assertThat(SlotLock.read(LockName.exactly("a#1#2")))
                .contains(new SlotLock(LockName.exactly("a#1").asPermits(), 2));
        assertThat(SlotLock.read(LockName.exactly("a\u2028b#1"))).isPresent();
    }

    @Test
    void anotherNameIsNotThatOfASlot() {
        for (String text : new String[] {"db", "db#", "#1", " #1", "db#01", "db#1000", "db#-1", "db#1 ", "db#x"}) {
            assertThat(SlotLock.read(LockName.exactly(text))).as(text).isEmpty();
        }
        assertThat(SlotLock.read(LockName.exactly("db#1").asPermits(3))).isEmpty();
    }

    @Test
    void theLongestNameHasValidSlots() {
        LockName longest = LockName.exactly("x".repeat(SlotLock.MAX_NAME_BYTES)).asPermits(1_000);
        assertThat(new SlotLock(longest, 999).name().text()).hasSize(LockName.MAX_BYTES);
    }

    @Test
    void aMarkStatesTheCountAndIsTakenOff() {
        Holder marked = holder(SlotLock.marked("host/1/c0ffee/label", 5));
        assertThat(marked.id()).isEqualTo("permit of 5: host/1/c0ffee/label");
        assertThat(SlotLock.countOf(marked)).hasValue(5);
        assertThat(SlotLock.unmarked(marked)).isEqualTo(holder("host/1/c0ffee/label"));
        assertThat(SlotLock.countOf(holder(SlotLock.marked("x", 1_000)))).hasValue(1_000);
        for (String id : new String[] {"host/1/c0ffee", "permit of 0: x", "permit of 05: x", "a permit of 5: x", ""}) {
            assertThat(SlotLock.countOf(holder(id))).as(id).isEmpty();
            assertThat(SlotLock.unmarked(holder(id))).as(id).isEqualTo(holder(id));
        }
    }

    @Test
    void onlyTheHolderOfASlotIsUnmarked() {
        Holder marked = holder("permit of 5: x");
        HeldLock slot = new HeldLock(LockName.exactly("db#1"), marked);
        HeldLock other = new HeldLock(LockName.exactly("db"), marked);
        assertThat(SlotLock.unmarked(slot)).isEqualTo(new HeldLock(slot.name(), holder("x")));
        assertThat(SlotLock.unmarked(other)).isEqualTo(other);
    }

    @Test
    void anOwnerTokenIsBoundToItsSlot() {
        assertThat(new SlotLock(PERMITS, 0).bound(DRAWN).hex()).isEqualTo("0123456789abcdef0123456751a7000001234567");
        assertThat(new SlotLock(PERMITS, 999).bound(DRAWN).hex()).isEqualTo("0123456789abcdef0123456751a703e701234567");
        for (int slot : new int[] {0, 1, 255, 256, 999}) {
            SlotLock lock = new SlotLock(PERMITS, slot);
            assertThat(SlotLock.boundBy(lock.bound(DRAWN), PERMITS)).contains(lock);
        }
        assertThat(SlotLock.boundBy(DRAWN, PERMITS)).isEmpty();
        assertThat(SlotLock.boundBy(OwnerToken.fromHex("0123456789abcdef0123456751a703e801234567"), PERMITS))
                .as("no permits have that slot")
                .isEmpty();
    }
}
