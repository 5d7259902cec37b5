package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockOptions;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.ClientRecord.ClientHold;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.Grant;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.RenewReply;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.TokenRange;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A client announces itself at the store while it holds a lock for longer than a second. */
@SuppressWarnings("FutureReturnValueIgnored")
@Tag("quick")
final class ClientRecordsTest {

    private static final Duration LONG = Duration.ofHours(10);

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final List<ClientRecord> told = new ArrayList<>();
    private final List<Duration> kept = new ArrayList<>();
    private Supplier<CompletableFuture<Void>> answer = () -> CompletableFuture.completedFuture(null);
    private boolean keepsRecords = true;
    private String label = "billing";

    private LockClient client() {
        store.operations(new StoreOperations() {
            @Override
            public boolean keepsClientRecords() {
                return keepsRecords;
            }

            @Override
            public CompletableFuture<Void> announce(ClientRecord record, long keepNanos) {
                told.add(record);
                kept.add(Duration.ofNanos(keepNanos));
                return answer.get();
            }
        });
        return Leasehold.builder()
                .store(store)
                .runtime(runtime)
                .label(label)
                .defaults(LockOptions.defaults().ttl(LONG).maxHold(LONG.multipliedBy(10)))
                .connect();
    }

    private Lease held(LockClient client, String name) {
        CompletableFuture<Lease> wanted = client.named(name).acquireAsync();
        var asked = store.acquires().get(store.acquires().size() - 1);
        asked.answer()
                .complete(new AcquireReply.Granted(
                        new Grant(
                                asked.request().owner(), TokenRange.of(1, 1), runtime.nanoTime(), Incarnation.DURABLE),
                        List.of()));
        return wanted.join();
    }

    private int toldAfter(Duration span) {
        runtime.pass(span);
        return told.size();
    }

    @Test
    void aClientIsToldOfASecondAfterItsFirstHoldAndEveryFiveFromThen() {
        Lease lease = held(client(), "a");
        assertThat(toldAfter(Duration.ofMillis(999))).isZero();
        assertThat(toldAfter(Duration.ofMillis(1))).isEqualTo(1);
        assertThat(toldAfter(Duration.ofMillis(4_999))).isEqualTo(1);
        assertThat(toldAfter(Duration.ofMillis(1))).isEqualTo(2);
        assertThat(toldAfter(Duration.ofMinutes(10))).isEqualTo(122);
        assertThat(kept).as("two that are lost do no harm").allMatch(keep -> keep.toSeconds() == 16);
        lease.release();
        assertThat(toldAfter(Duration.ofMinutes(10))).as("not any more").isEqualTo(122);
    }

    /** This applies however many holds begin, and whatever the result of the previous announcement was. */
    @Test
    void thereIsOneAnnouncementAtATime() {
        LockClient client = client();
        held(client, "a");
        held(client, "b");
        assertThat(toldAfter(Duration.ofSeconds(1))).isEqualTo(1);
        held(client, "c");
        answer = () -> {
            throw new InternalError("made by the test");
        };
        assertThat(toldAfter(Duration.ofSeconds(5))).isEqualTo(2);
        assertThat(toldAfter(Duration.ofSeconds(5))).isEqualTo(3);
        assertThat(told.get(2).holds()).hasSize(3);
    }

    @Test
    void whatIsHeldForLessThanASecondIsNotTold() {
        LockClient client = client();
        for (int i = 0; i < 10; i++) {
            Lease lease = held(client, "a");
            runtime.pass(Duration.ofMillis(300));
            lease.release();
            runtime.pass(Duration.ofSeconds(10));
        }
        assertThat(told).isEmpty();
        held(client, "b");
        assertThat(toldAfter(Duration.ofSeconds(1))).as("it begins anew").isEqualTo(1);
    }

    /** As in a service that always holds a lock, and none of them for long. */
    @Test
    void shortHoldsThatFollowEachOtherAreNotTold() {
        LockClient client = client();
        Lease current = held(client, "a");
        for (int i = 0; i < 100; i++) {
            runtime.pass(Duration.ofMillis(300));
            Lease next = held(client, "b" + i);
            runtime.pass(Duration.ofMillis(300));
            current.release();
            current = next;
        }
        assertThat(told).isEmpty();
        assertThat(toldAfter(Duration.ofSeconds(2))).as("the last one stays").isEqualTo(1);
        assertThat(told.get(0).holds()).extracting(ClientHold::lock).containsExactly("b99");
    }

    @Test
    void whatCannotBeToldIsToldTheNextTime() {
        held(client(), "a");
        answer = () -> CompletableFuture.failedFuture(new IllegalStateException("made by the test"));
        runtime.pass(Duration.ofSeconds(7));
        answer = () -> {
            throw new InternalError("made by the test");
        };
        runtime.pass(Duration.ofSeconds(10));
        assertThat(told).hasSize(4);
        assertThat(toldAfter(Duration.ofSeconds(5))).isEqualTo(5);
    }

    /** If an Error prevents the arming of a timer, later holds are announced. */
    @Test
    void aTimerThatCouldNotBeArmedIsArmedForTheNextHold() {
        LockClient client = client();
        held(client, "a").release();
        runtime.failToStart(1);
        runtime.pass(Duration.ofSeconds(30));
        runtime.failToStart(0);
        held(client, "b");
        assertThat(toldAfter(Duration.ofSeconds(30))).isPositive();
    }

    @Test
    void aStoreThatKeepsNoRecordsIsToldNothing() {
        keepsRecords = false;
        held(client(), "a");
        assertThat(toldAfter(Duration.ofMinutes(1))).isZero();
    }

    /** A store that is opened in the background does not know at first whether it keeps records. */
    @Test
    void aStoreThatKeepsNoRecordsOnceItIsOpenIsToldNothing() {
        LockClient client = client();
        keepsRecords = false;
        held(client, "a");
        assertThat(toldAfter(Duration.ofMinutes(1))).isZero();
        held(client, "b");
        assertThat(toldAfter(Duration.ofMinutes(1))).isZero();
    }

    /** At SQL, each connection shows whether the user may use the table of clients. */
    @Test
    void aStoreThatKeepsNoRecordsForAWhileIsToldAgainAfterIt() {
        held(client(), "a");
        assertThat(toldAfter(Duration.ofSeconds(1))).isEqualTo(1);
        keepsRecords = false;
        assertThat(toldAfter(Duration.ofSeconds(10))).isEqualTo(1);
        keepsRecords = true;
        assertThat(toldAfter(Duration.ofSeconds(5))).isEqualTo(2);
    }

    @Test
    void theRecordSaysWhoHoldsWhatSinceWhen() {
        Instant began = Instant.ofEpochMilli(runtime.wallMillis());
        LockClient client = client();
        runtime.pass(Duration.ofSeconds(100));
        Lease first = held(client, "z");
        ((LeaseHandle) first).state().openedBy(new Thread(() -> {}, "worker-7"));
        runtime.pass(Duration.ofMillis(500));
        held(client, "a");
        first.renewAsync();
        store.renewals().get(0).answer().complete(new RenewReply(List.of(new RenewReply.Renewed(runtime.nanoTime()))));
        runtime.pass(Duration.ofMillis(500));
        ClientRecord record = told.get(0);
        assertThat(record.holderId()).isEqualTo(client.holderId());
        assertThat(record.host() + "/" + record.pid())
                .isEqualTo(client.holderId().replaceAll("/[^/]*/billing$", ""));
        assertThat(record.application()).isEqualTo("billing");
        assertThat(record.since()).isEqualTo(began);
        assertThat(record.holds())
                .as("the oldest first")
                .containsExactly(
                        new ClientHold("z", "worker-7", began.plusSeconds(100), 1),
                        new ClientHold("a", "", began.plusMillis(100_500), 0));
    }

    @Test
    void ofManyHoldsTheOldestAreTold() {
        LockClient client = client();
        for (int i = 0; i < ClientRecord.MAX_HOLDS + 20; i++) {
            held(client, "lock-" + i);
            runtime.pass(Duration.ofMillis(1));
        }
        runtime.pass(Duration.ofSeconds(1));
        assertThat(told.get(0).holds()).hasSize(ClientRecord.MAX_HOLDS);
        assertThat(told.get(0).holds().get(0).lock()).isEqualTo("lock-0");
    }

    @Test
    void aClientWithoutALabelIsOfNoApplication() {
        label = "";
        held(client(), "a");
        assertThat(toldAfter(Duration.ofSeconds(1))).isEqualTo(1);
        assertThat(told.get(0).application()).isEmpty();
    }
}
