package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.leasehold.LockName;
import io.leasehold.spi.OwnerToken;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The places of locks in the key space: each lock has a separate range, and a list can go from one to the next. */
@Tag("quick")
class KeysTest {

    private final Keys keys = new Keys("p/q");
    private final OwnerToken owner = OwnerToken.fromHex("ab".repeat(20));

    private static String text(ByteSequence key) {
        return key.toString(StandardCharsets.UTF_8);
    }

    private static int compare(ByteSequence one, ByteSequence other) {
        return Arrays.compareUnsigned(one.getBytes(), other.getBytes());
    }

    @Test
    void keysKeepLocksApartAndAreReadBack() {
        for (String name : List.of("a", "a/b", "a%2Fb", "%", "\u00e4", " a ", "*", "@tokens")) {
            LockName lock = LockName.exactly(name);
            assertThat(keys.lockOf(keys.of(lock, owner))).contains(lock);
            assertThat(text(keys.of(lock, owner))).doesNotContain("abab");
        }
        assertThat(keys.lockOf(keys.tokens())).isEmpty();
    }

    @Test
    void aKeyStandsInTheQueueOfItsLockAlone() {
        LockName lock = LockName.of("a");
        assertThat(text(keys.of(lock, owner))).isEqualTo(text(keys.queue(lock)) + owner.publicId());
        assertThat(text(keys.queue(lock))).isEqualTo("p/q/a/");
        assertThat(text(keys.of(LockName.of("a/b"), owner))).doesNotStartWith("p/q/a/");
        assertThat(text(keys.of(LockName.of("ab"), owner))).doesNotStartWith("p/q/a/");
    }

    @Test
    void whatOthersWriteIsNoLock() {
        for (String foreign : List.of("p/q/a", "p/q/", "p/q//id", "p/q", "p/q/a b/id")) {
            assertThat(keys.lockOf(Keys.bytes(foreign))).as(foreign).isEmpty();
        }
        assertThat(keys.lockOf(Keys.bytes("p/q/a/whatever"))).contains(LockName.of("a"));
    }

    @Test
    void allKeysAreBetweenTheirBounds() {
        ByteSequence all = keys.all();
        ByteSequence end = keys.endOfAll();
        for (String name : List.of("-", "0", "a", "z", "%")) {
            ByteSequence key = keys.of(LockName.of(name), owner);
            assertThat(compare(all, key)).isNegative();
            assertThat(compare(key, end)).isNegative();
        }
        assertThat(text(all)).isEqualTo("p/q/");
        assertThat(text(end)).isEqualTo("p/q0");
        assertThat(compare(end, keys.tokens())).as("the base is no lock").isNegative();
    }

    /** However long the queue of a lock is: the next page begins with the next lock. */
    @Test
    void aListGoesOnWithTheNextLock() {
        LockName lock = LockName.of("a");
        ByteSequence after = keys.after(keys.of(lock, owner));
        assertThat(text(after)).isEqualTo("p/q/a0");
        assertThat(compare(Keys.bytes("p/q/a/\uffff"), after)).isNegative();
        assertThat(compare(after, keys.of(LockName.of("a0"), owner))).isNegative();
        assertThat(text(keys.after(Keys.bytes("p/q//id")))).isEqualTo("p/q/0");
        // A key that belongs to no lock is followed by the very next possible key.
        assertThat(text(keys.after(Keys.bytes("p/q/stranger")))).isEqualTo("p/q/stranger\0");
        assertThat(text(keys.after(Keys.bytes("p/q/")))).isEqualTo("p/q/\0");
        byte[] noText = {'p', '/', 'q', '/', (byte) 0xff, '/', (byte) 0xfe};
        assertThat(keys.after(ByteSequence.from(noText)).getBytes())
                .containsExactly('p', '/', 'q', '/', (byte) 0xff, '0');
    }
}
