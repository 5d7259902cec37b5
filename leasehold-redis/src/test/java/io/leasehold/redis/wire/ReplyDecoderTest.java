package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Holder;
import io.leasehold.LockName;
import io.leasehold.LockStoreException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.admin.LockAdmin.HeldLock;
import io.leasehold.admin.QueuedWaiter;
import io.leasehold.node.NodeReply;
import io.leasehold.spi.ExportReply;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.ReleaseReply;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests of each answer of the scripts, word for word. */
@Tag("quick")
final class ReplyDecoderTest {

    private static final Incarnation LIFE = new Incarnation("life");
    private static final LockName NAME = LockName.exactly("job");

    private final ReplyDecoder decoder = new ReplyDecoder(new RedisErrors("the server"));

    private NodeReply acquired(String... words) {
        return decoder.acquire(List.of(words), LIFE, "acquire lock \"job\"");
    }

    @Test
    void ofAResume() {
        assertThat(acquired("not-ours", "17", "free", "", "-1")).isEqualTo(new NodeReply.Held(null, false, LIFE, 17));
        assertThat(acquired("not-ours", "17", "lock", "5:host/1/x", "900"))
                .isInstanceOfSatisfying(NodeReply.Held.class, held -> {
                    assertThat(held.holder()).isNotNull();
                    assertThat(held.holder().id()).isEqualTo("host/1/x");
                    assertThat(held.queued()).isFalse();
                });
    }

    @Test
    void ofAnExport() {
        assertThat(decoder.export(List.of("exported"), "export")).isEqualTo(new ExportReply.Exported());
        assertThat(decoder.export(List.of("not-ours"), "export")).isEqualTo(new ExportReply.NotOurs());
        assertThat(decoder.export(List.of("broken", "17", "lock:{job}:fence", "list"), "export lock \"job\""))
                .isInstanceOfSatisfying(ExportReply.Failed.class, failed -> {
                    assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
                    assertThat(failed.error()).hasMessageContaining("lock:{job}:fence");
                });
        assertThatIllegalArgumentException().isThrownBy(() -> decoder.export(List.of("released"), "export"));
    }

    @Test
    void ofAnAcquire() {
        assertThat(acquired("yes", "17")).isEqualTo(new NodeReply.Yes(LIFE, 17));
        assertThat(acquired("stale", "17", "16")).isEqualTo(new NodeReply.Stale(16, LIFE, 17));
        assertThat(acquired("unborn", "17", "nonce")).isEqualTo(new NodeReply.Unborn("nonce", LIFE, 17));
        assertThat(acquired("other", "17", "set")).isEqualTo(new NodeReply.OtherSet("set", LIFE, 17));
        assertThat(acquired("young", "17", "5")).isEqualTo(new NodeReply.Quarantined(5_000, LIFE, 17));
        assertThat(acquired("refused", "17", "16")).isInstanceOfSatisfying(NodeReply.Refused.class, refused -> {
            assertThat(refused.toString()).contains("beyond 16").contains("clock is at 17");
            assertThat(refused.incarnation()).isEqualTo(LIFE);
            assertThat(refused.serverMicros()).isEqualTo(17);
        });
        assertThat(acquired("broken", "17", "lock:{job}:fence", "list"))
                .isInstanceOfSatisfying(NodeReply.Failed.class, failed -> {
                    assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
                    assertThat(failed.error())
                            .hasMessageContaining("lock:{job}:fence")
                            .hasMessageContaining("a list");
                });
        assertThat(acquired("version", "17", "lock:{job}:queued", "1", "2"))
                .isInstanceOfSatisfying(NodeReply.Failed.class, failed -> {
                    assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT);
                    assertThat(failed.error())
                            .hasMessage(
                                    "the server cannot acquire lock \"job\": clients of wire format 1 wait for it (key"
                                            + " \"lock:{job}:queued\"), and this one speaks wire format 2. They exclude"
                                            + " each other, but cannot share a queue: use the same version of"
                                            + " Leasehold in all clients of this lock; the queue is deleted when its last"
                                            + " waiter leaves");
                });
        assertThatThrownBy(() -> acquired("maybe", "17")).hasMessageContaining("maybe");
    }

    /** A script that has only "yes" to say answers with the server's time: seconds and microseconds. */
    @Test
    void ofAGrantWithoutAWord() {
        assertThat(acquired("1700000000", "999999")).isEqualTo(new NodeReply.Yes(LIFE, 1_700_000_000_999_999L));
        assertThat(acquired("0", "5")).isEqualTo(new NodeReply.Yes(LIFE, 5));
        assertThat(acquired("9", "5")).isEqualTo(new NodeReply.Yes(LIFE, 9_000_005));
        for (String kind : List.of("", "/", ":", "-1")) {
            assertThatThrownBy(() -> acquired(kind, "5")).hasMessage("unknown answer \"" + kind + "\"");
        }
    }

    @Test
    void ofOneThatIsHeld() {
        Holder holder = new Holder("host/1/x", Duration.ofMillis(30), OptionalLong.of(5));
        assertThat(acquired("held", "17", "lock", "5:host/1/x", "30"))
                .isEqualTo(new NodeReply.Held(holder, false, LIFE, 17));
        assertThat(acquired("queued", "17", "lock", "5:host/1/x", "30"))
                .isEqualTo(new NodeReply.Held(holder, true, LIFE, 17));
        assertThat(acquired("held", "17", "ahead", "", "-1")).isEqualTo(new NodeReply.Held(null, false, LIFE, 17));
        assertThat(acquired("held", "17", "foreign", "string", "-1"))
                .isEqualTo(
                        new NodeReply.Held(new Holder("foreign client", null, OptionalLong.empty()), false, LIFE, 17));
        assertThat(acquired("held", "17", "foreign", "list", "0"))
                .isEqualTo(new NodeReply.Held(
                        new Holder("foreign client (the key holds a list)", Duration.ZERO, OptionalLong.empty()),
                        false,
                        LIFE,
                        17));
    }

    @Test
    void ofARelease() {
        assertThat(decoder.release(List.of("released"))).isEqualTo(new ReleaseReply.Released(List.of(), false));
        assertThat(decoder.release(List.of(1L))).as("of the common case").isEqualTo(new ReleaseReply.Released());
        assertThat(decoder.release(List.of("released", "woken"))).isEqualTo(new ReleaseReply.Released(List.of(), true));
        assertThat(decoder.release(List.of("released", "besides", "ERR x")))
                .isEqualTo(new ReleaseReply.Released(List.of(), false));
        assertThat(decoder.release(List.of("not-ours"))).isEqualTo(new ReleaseReply.NotOurs());
        assertThat(decoder.release(List.of("clamped", "16")))
                .isInstanceOfSatisfying(ReleaseReply.Failed.class, failed -> {
                    assertThat(failed.kind()).isEqualTo(FailureKind.UNKNOWN);
                    assertThat(failed.error())
                            .isInstanceOf(StoreUnavailableException.class)
                            .hasMessageContaining("only to 16");
                });
        assertThatThrownBy(() -> decoder.release(List.of("maybe"))).hasMessageContaining("maybe");
    }

    @Test
    void ofABirth() {
        assertThat(decoder.birth(List.of("born", "17"), LIFE)).isEqualTo(new NodeReply.Stale(0, LIFE, 17));
        assertThat(decoder.birth(List.of("refused", "17"), LIFE)).isInstanceOf(NodeReply.Refused.class);
        assertThatThrownBy(() -> decoder.birth(List.of("maybe", "17"), LIFE)).hasMessageContaining("maybe");
    }

    @Test
    void ofRenewals() {
        OwnerToken owner = OwnerToken.fromHex("01".repeat(OwnerToken.BYTES));
        List<RenewBatch.Item> asked = Stream.of(NAME, LockName.exactly("b"), LockName.exactly("c"))
                .map(name -> new RenewBatch.Item(name, owner, 9))
                .toList();
        List<RenewReply.Item> items = decoder.renew(List.of(1L, 2L, 0L, 3L, "NOPERM no"), asked, 7);
        assertThat(items.get(0)).isEqualTo(new RenewReply.Renewed(7));
        assertThat(items.get(1)).isEqualTo(new RenewReply.NotOurs());
        assertThat(items.get(2))
                .isInstanceOfSatisfying(
                        RenewReply.Failed.class,
                        failed -> assertThat(failed.error()).hasMessageContaining("renew lock \"c\""));
        assertThat(items).hasSize(3);
        assertThat(decoder.renew(List.of(3L), asked, 7)).hasSize(3).containsOnly(new RenewReply.Renewed(7));
        // A lock that is not named must not count as kept by an answer that belongs to another request.
        for (List<Object> other : List.<List<Object>>of(
                List.of(),
                List.of(2L),
                List.of(4L),
                List.of(3L, 1L),
                List.of(3L, 1L, 0L),
                List.of(2L, 4L, 0L),
                List.of(1L, 2L, 0L, 2L, 0L))) {
            assertThatThrownBy(() -> decoder.renew(other, asked, 7)).isInstanceOf(RuntimeException.class);
        }
    }

    @Test
    void ofWhatOperatorsAsk() {
        assertThat(decoder.inspect(List.of("free"), NAME)).isEmpty();
        assertThat(decoder.inspect(List.of("held", "lock", "5:host/1/x", "30"), NAME))
                .contains(new HeldLock(NAME, new Holder("host/1/x", Duration.ofMillis(30), OptionalLong.of(5))));
        assertThat(decoder.waiters(List.of("5000", "2000", "host/1/x", "6000", "host/2/y"), "list"))
                .containsExactly(
                        new QueuedWaiter("host/1/x", Duration.ofMillis(3)),
                        new QueuedWaiter("host/2/y", Duration.ZERO));
        assertThat(decoder.waiters(List.of("5000"), "list")).isEmpty();
        assertThatThrownBy(() -> decoder.waiters(List.of("broken", "17", "lock:{job}:queued", "string"), "list"))
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining("cannot list: the key \"lock:{job}:queued\" holds a string");
        assertThatThrownBy(() -> decoder.waiters(List.of("version", "17", "lock:{job}:queued", "1", "2"), "list"))
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining("wire format 1");
        assertThat(decoder.forceRelease(List.of("removed"), NAME)).isEqualTo(ReplyDecoder.Taken.REMOVED);
        assertThat(decoder.forceRelease(List.of("none"), NAME)).isEqualTo(ReplyDecoder.Taken.NONE);
        assertThat(decoder.forceRelease(List.of("readers"), NAME)).isEqualTo(ReplyDecoder.Taken.READERS);
        assertThatThrownBy(() -> decoder.forceRelease(List.of("foreign", "list"), NAME))
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining("hold a list");
    }

    @Test
    void whatIsNoTextIsMalformed() {
        assertThatThrownBy(() -> decoder.acquire(List.of("yes", 17L), LIFE, "acquire"))
                .hasMessageContaining("item 1");
        assertThatThrownBy(() -> decoder.release(List.of(0L))).hasMessageContaining("item 0");
        assertThatThrownBy(() -> acquired("yes")).isInstanceOf(RuntimeException.class);
    }
}
