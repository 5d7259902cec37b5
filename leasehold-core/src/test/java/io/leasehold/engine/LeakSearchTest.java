package io.leasehold.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.leasehold.Holder;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.admin.ClientRecord;
import io.leasehold.admin.ClientRecord.ClientHold;
import io.leasehold.admin.Leak;
import io.leasehold.admin.LockAdmin;
import io.leasehold.admin.PermitsStatus;
import io.leasehold.spi.StoreOperations;
import io.leasehold.spi.StorePermits;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The results of a search for leaks over any store, and the holds that are not leaks. */
@Tag("quick")
final class LeakSearchTest {

    private static final Duration HOUR = Duration.ofHours(1);
    private static final LockName A = LockName.exactly("a");
    private static final String OURS = "host/7/12345678";

    private final StillRuntime runtime = new StillRuntime();
    private final SilentStore store = new SilentStore();
    private final Map<String, ClientRecord> clients = new HashMap<>();
    private final List<Leak> ofTheStore = new ArrayList<>();
    private final List<String> asked = new ArrayList<>();
    private boolean keepsRecords = true;
    private LockClient client;
    /** Runs once the search has found no record of a holder. */
    private Runnable meanwhile = () -> {};

    private LockAdmin admin() {
        store.operations(new StoreOperations() {
            @Override
            public boolean keepsClientRecords() {
                return keepsRecords;
            }

            @Override
            public CompletableFuture<Optional<ClientRecord>> client(String holderId) {
                asked.add(holderId);
                return CompletableFuture.completedFuture(Optional.ofNullable(clients.get(holderId)));
            }

            @Override
            public CompletableFuture<List<Leak>> leaks() {
                return CompletableFuture.completedFuture(ofTheStore);
            }
        });
        runtime.passesInWaits();
        client = Leasehold.builder().store(store).runtime(runtime).connect();
        return client.admin();
    }

    private List<Leak> leaks() {
        LockAdmin admin = admin();
        runtime.schedule(Duration.ofSeconds(2).toNanos(), () -> meanwhile.run());
        return admin.leaks(HOUR);
    }

    private static Holder holder(String id, long token) {
        return new Holder(id, Duration.ofSeconds(20), OptionalLong.of(token));
    }

    private void record(String holderId, LockName lock, Duration age, String thread) {
        Instant now = Instant.ofEpochMilli(runtime.wallMillis());
        clients.put(
                holderId,
                new ClientRecord(
                        holderId, "host", 7, "", now, List.of(new ClientHold(lock.text(), thread, now.minus(age), 3))));
    }

    /** Permits of one name, with the holders of its slots. */
    private static final class Slots implements StorePermits {

        private static final LockName NAME = LockName.exactly("pool").asPermits(3);
        private final List<PermitsStatus.HeldPermit> held = new ArrayList<>();
        /** Whether slot 0 is the lock A of the store. */
        private boolean areLocks;

        @Override
        public Optional<LockName> lockOf(LockName name, int slot) {
            assertThat(name).isEqualTo(NAME);
            return areLocks && slot == 0 ? Optional.of(A) : Optional.empty();
        }

        @Override
        public CompletableFuture<Optional<PermitsStatus>> describe(LockName name) {
            assertThat(name).isEqualTo(NAME);
            return CompletableFuture.completedFuture(Optional.of(new PermitsStatus(NAME, 3, 1, held)));
        }

        @Override
        public CompletableFuture<List<PermitsStatus>> list(String glob, int limit) {
            assertThat(glob).isEqualTo("*");
            return describe(NAME).thenApply(status -> status.stream().toList());
        }

        @Override
        public CompletableFuture<Boolean> change(LockName name, int count, long version) {
            throw new AssertionError("a search changes nothing");
        }

        @Override
        public CompletableFuture<Boolean> forceRelease(LockName name, int slot, String holderId) {
            throw new AssertionError("a search changes nothing");
        }
    }

    @Test
    void readersAreSearchedOneByOne() {
        store.tells(A, holder("readers", 9));
        Instant now = Instant.ofEpochMilli(runtime.wallMillis());
        List<ClientHold> holds =
                List.of(new ClientHold("readers " + A.text(), "worker", now.minus(HOUR.multipliedBy(2)), 3));
        clients.put("host/8/old", new ClientRecord("host/8/old", "host", 8, "", now, holds));
        store.readers.add(holder(OURS, 4));
        store.readers.add(holder("host/8/old", 5));
        store.readers.add(holder("host/9/released", 6));
        meanwhile = () -> store.readers.remove(2);
        String subject = A.text() + ", a reader";
        assertThat(leaks())
                .extracting(Leak::kind, Leak::subject)
                .containsExactly(tuple(Leak.Kind.HOLDER_GONE, subject), tuple(Leak.Kind.HELD_TOO_LONG, subject));
    }

    /** A client may have several holds of readers: the one with the larger token is the younger. */
    @Test
    void theReadersOfAClientAreItsHoldsInTheOrderOfTheirTokens() {
        store.tells(A, holder("readers", 9));
        Instant now = Instant.ofEpochMilli(runtime.wallMillis());
        String listed = ClientRecord.listed(A.asRead());
        List<ClientHold> holds = List.of(
                new ClientHold(listed, "oldest", now.minus(HOUR.multipliedBy(2)), 3),
                new ClientHold(listed, "young", now, 3));
        clients.put(OURS, new ClientRecord(OURS, "host", 7, "", now, holds));
        store.readers.add(holder(OURS, 9));
        store.readers.add(holder(OURS, 4));
        assertThat(leaks())
                .singleElement()
                .satisfies(leak -> assertThat(leak.detail()).contains("thread \"oldest\""));
    }

    @Test
    void permitsAreSearchedSlotBySlot() {
        Slots slots = new Slots();
        store.keeps(slots);
        Instant now = Instant.ofEpochMilli(runtime.wallMillis());
        List<ClientHold> holds =
                List.of(new ClientHold(ClientRecord.listed(Slots.NAME), "worker", now.minus(HOUR.multipliedBy(2)), 3));
        clients.put("host/8/old", new ClientRecord("host/8/old", "host", 8, "", now, holds));
        slots.held.add(new PermitsStatus.HeldPermit(0, holder(OURS, 4)));
        slots.held.add(new PermitsStatus.HeldPermit(1, holder("host/8/old", 5)));
        slots.held.add(new PermitsStatus.HeldPermit(2, holder("host/9/released", 6)));
        meanwhile = () -> slots.held.remove(2);
        assertThat(leaks())
                .extracting(Leak::kind, Leak::subject)
                .containsExactly(
                        tuple(Leak.Kind.HOLDER_GONE, "pool, slot 0"), tuple(Leak.Kind.HELD_TOO_LONG, "pool, slot 1"));
    }

    private static ClientHold held(String thread, Instant since) {
        return new ClientHold(ClientRecord.listed(Slots.NAME), thread, since, 3);
    }

    private List<String> leaksOfOneClient(List<ClientHold> holds, long... tokens) {
        Slots slots = new Slots();
        store.keeps(slots);
        clients.put(OURS, new ClientRecord(OURS, "host", 7, "", Instant.EPOCH, holds));
        for (int slot = 0; slot < tokens.length; slot++) {
            slots.held.add(new PermitsStatus.HeldPermit(slot, holder(OURS, tokens[slot])));
        }
        return leaks().stream()
                .map(leak -> leak.subject() + ": " + leak.detail().replaceAll(".*thread \"|\" for.*", ""))
                .toList();
    }

    /** A record names no slots, and lists the longest hold first. */
    @Test
    void thePermitsOfAClientAreItsHoldsInTheOrderOfTheirTokens() {
        Instant now = Instant.ofEpochMilli(runtime.wallMillis());
        ClientHold oldest = held("oldest", now.minus(HOUR.multipliedBy(3)));
        ClientHold older = held("older", now.minus(HOUR.multipliedBy(2)));
        ClientHold young = held("young", now);
        assertThat(leaksOfOneClient(List.of(oldest, young), 9, 4)).containsExactly("pool, slot 1: oldest");
        assertThat(leaksOfOneClient(List.of(oldest, older), 9, 4))
                .containsExactly("pool, slot 0: older", "pool, slot 1: oldest");
        assertThat(leaksOfOneClient(List.of(oldest), 9, 4, 11))
                .as("those that the record does not list yet are young")
                .containsExactly("pool, slot 1: oldest");
        assertThat(leaksOfOneClient(List.of(oldest, young), 9))
                .as("one of them was released after the report")
                .isEmpty();
    }

    /** A slot that is a lock of the store is listed twice, and reported once. */
    @Test
    void aSlotThatIsALockIsReportedOnce() {
        Slots slots = new Slots();
        store.keeps(slots);
        slots.held.add(new PermitsStatus.HeldPermit(0, holder(OURS, 4)));
        store.tells(A, holder(OURS, 4));
        assertThat(leaks()).extracting(Leak::subject).containsExactly("a", "pool, slot 0");
        slots.areLocks = true;
        assertThat(leaks()).extracting(Leak::subject).containsExactly("pool, slot 0");
    }

    @Test
    void aPermitThatHasMovedToAnotherHolderIsNoLeak() {
        Slots slots = new Slots();
        store.keeps(slots);
        slots.held.add(new PermitsStatus.HeldPermit(0, holder(OURS, 4)));
        meanwhile = () -> slots.held.set(0, new PermitsStatus.HeldPermit(0, holder(OURS, 7)));
        assertThat(leaks()).isEmpty();
    }

    @Test
    void aLockThatIsKeptForATicketIsNoLeak() {
        store.tells(A, holder(Holder.ticketOf(OURS), 7));
        assertThat(leaks()).isEmpty();
        assertThat(asked).isEmpty();
    }

    @Test
    void aHoldWithoutAnEndIsOne() {
        store.tells(A, new Holder(OURS, null, OptionalLong.empty()));
        assertThat(leaks()).singleElement().satisfies(leak -> {
            assertThat(leak.kind()).isEqualTo(Leak.Kind.NO_TTL);
            assertThat(leak.subject()).isEqualTo("a");
            assertThat(leak.detail()).contains(OURS);
        });
    }

    @Test
    void aHolderThatShowsNoSignOfLifeTwiceIsGone() {
        store.tells(A, holder(OURS, 4));
        Duration before = Duration.ofMillis(runtime.wallMillis());
        assertThat(leaks()).singleElement().satisfies(leak -> {
            assertThat(leak.kind()).isEqualTo(Leak.Kind.HOLDER_GONE);
            assertThat(leak.subject()).isEqualTo("a");
            assertThat(leak.detail()).contains(OURS);
        });
        assertThat(asked).containsExactly(OURS, OURS);
        assertThat(Duration.ofMillis(runtime.wallMillis()).minus(before)).isEqualTo(Duration.ofSeconds(4));
    }

    /** No timer of a closed client ends the time between the two checks. */
    @Test
    void aSearchEndsWithItsClient() {
        store.tells(A, holder(OURS, 4));
        meanwhile = () -> {
            client.close();
            runtime.dropTimers();
        };
        assertThatThrownBy(this::leaks)
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("lock client for silent: is closed");
        assertThat(asked).as("no second check").containsExactly(OURS);
    }

    @Test
    void whatHasEndedOrMovedOrIsToldOfByTheSecondLookIsNone() {
        LockName moved = LockName.exactly("moved");
        LockName renewed = LockName.exactly("granted anew");
        LockName told = LockName.exactly("told");
        store.tells(A, holder(OURS, 4));
        store.tells(moved, holder(OURS, 4));
        store.tells(renewed, holder(OURS, 4));
        store.tells(told, holder("host/8/87654321/label", 4));
        meanwhile = () -> {
            store.tells(A, null);
            store.tells(moved, holder("host/7/00000000", 4));
            store.tells(renewed, holder(OURS, 5));
            record("host/8/87654321/label", told, Duration.ZERO, "");
        };
        assertThat(leaks()).isEmpty();
    }

    @Test
    void othersThanOurClientsKeepNoRecordAndAreNotMissed() {
        store.tells(A, holder("somebody else/1", 4));
        assertThat(leaks()).isEmpty();
        assertThat(asked).isEmpty();
    }

    @Test
    void whereNoRecordsAreKeptNobodyIsMissed() {
        keepsRecords = false;
        store.tells(A, holder(OURS, 4));
        assertThat(leaks()).isEmpty();
        assertThat(asked).isEmpty();
    }

    @Test
    void aHoldIsTooLongIfItIsOlderThanAskedAndNotIfItIsAsOld() {
        LockName asOld = LockName.exactly("as old");
        store.tells(A, holder(OURS, 4));
        store.tells(asOld, holder("host/8/87654321", 5));
        record(OURS, A, HOUR.plusMillis(1), "worker-7");
        record("host/8/87654321", asOld, HOUR, "");
        assertThat(leaks())
                .containsExactly(new Leak(
                        Leak.Kind.HELD_TOO_LONG,
                        "a",
                        "held by " + OURS + ", thread \"worker-7\" for 1h (3 renewals), longer than 1h"));
    }

    @Test
    void aHoldWhoseThreadIsNotKnownNamesNone() {
        store.tells(A, holder(OURS, 4));
        record(OURS, A, HOUR.multipliedBy(2), "");
        assertThat(leaks()).singleElement().extracting(Leak::detail).asString().doesNotContain("thread");
    }

    @Test
    void whatTheStoreKnowsIsAmongThemAndAllAreSorted() {
        ofTheStore.add(new Leak(Leak.Kind.SIDE_KEY, "b", "left"));
        ofTheStore.add(new Leak(Leak.Kind.SIDE_KEY, "a", "left"));
        store.tells(LockName.exactly("z"), new Holder(OURS, null, OptionalLong.empty()));
        assertThat(leaks()).extracting(Leak::subject).containsExactly("z", "a", "b");
        assertThat(leaks()).extracting(Leak::kind).first().isEqualTo(Leak.Kind.NO_TTL);
    }

    @Test
    void anAgeIsNotNegative() {
        assertThatThrownBy(() -> admin().leaks(Duration.ofNanos(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("olderThan");
        assertThat(admin().leaks(Duration.ZERO)).isEmpty();
    }
}
