package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.RenewBatch;
import io.leasehold.spi.RenewReply;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Other transactions in the way of ours, at a real server: rows that are kept, deadlocks. */
@Timeout(180)
interface ContentionTests {

    /** A connection of an administrator, who is no user of Leasehold. */
    Connection administrator() throws SQLException;

    /** The URL for a client of which the database knows at once that it is part of a deadlock. */
    String urlOfVictim();

    /** The dialect. */
    SqlDialect dialect();

    /** How many transactions wait for a row, as the database tells. */
    String waitingTransactions();

    /** Makes the administrator's transaction one that the database would rather not give up. */
    String precious();

    /** A store whose errors are seen. */
    default LeaseClient open(SqlWitness witness) {
        return LeaseClient.open(runtime -> JdbcStores.over(witness.over(urlOfVictim()), dialect(), runtime));
    }

    /** The row is there, and free. */
    private static void makeRow(LeaseClient client, String name) {
        OwnerToken owner = client.owner();
        client.granted(name, owner);
        client.release(name, owner);
    }

    private static void lockRow(Connection connection, String name) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement
                    .executeQuery("SELECT fence FROM leasehold_lock WHERE name = '" + name + "' FOR UPDATE")
                    .close();
        }
    }

    private void awaitWaiting(CompletableFuture<?> of) throws SQLException {
        try (Connection looking = administrator();
                Statement statement = looking.createStatement()) {
            while (!of.isDone()) {
                try (var rows = statement.executeQuery(waitingTransactions())) {
                    if (rows.next() && rows.getLong(1) > 0) {
                        return;
                    }
                }
                // InnoDB answers from memory while it was asked within the last tenth of a second.
                LockSupport.parkNanos(150_000_000);
            }
        }
    }

    @Test
    default void aRowThatIsKeptLockedCostsItsOwnLockAlone() throws Exception {
        try (LeaseClient client = open(new SqlWitness());
                Connection keeper = administrator()) {
            OwnerToken mine = client.owner();
            client.granted("contention mine", mine);
            makeRow(client, "contention kept");
            lockRow(keeper, "contention kept");

            AcquireRequest hopeless = AcquireRequest.exclusive(
                    List.of(LockName.exactly("contention kept")),
                    client.owner(),
                    "test",
                    LeaseClient.TTL.toNanos(),
                    Duration.ofMillis(1_500).toNanos());
            assertThat(client.acquire(hopeless))
                    .isInstanceOfSatisfying(
                            AcquireReply.Failed.class,
                            failed -> assertThat(failed.error())
                                    .isInstanceOf(StoreUnavailableException.class)
                                    .hasMessageContainingAll("contention kept", "was not answered within"));

            AcquireRequest patient = AcquireRequest.exclusive(
                    List.of(LockName.exactly("contention kept")),
                    client.owner(),
                    "test",
                    LeaseClient.TTL.toNanos(),
                    Duration.ofMinutes(2).toNanos());
            CompletableFuture<AcquireReply> waiting = client.store.acquire(patient);
            awaitWaiting(waiting);
            RenewBatch.Item item =
                    new RenewBatch.Item(LockName.exactly("contention mine"), mine, LeaseClient.TTL.toNanos());
            RenewReply renewed = client.store
                    .renew(new RenewBatch(List.of(item), Duration.ofMinutes(1).toNanos()))
                    .get(60, TimeUnit.SECONDS);
            assertThat(renewed.items().get(0)).isInstanceOf(RenewReply.Renewed.class);
            assertThat(waiting).as("the row is still kept").isNotDone();
            keeper.rollback();
            assertThat(waiting.get(60, TimeUnit.SECONDS)).isInstanceOf(AcquireReply.Granted.class);
        }
    }

    /** A request for two locks against a transaction that takes their rows in the other order. */
    @Test
    default void aDeadlockIsTriedAgainAndNothingIsLost() throws Exception {
        SqlWitness witness = new SqlWitness();
        try (LeaseClient client = open(witness);
                Connection rival = administrator()) {
            makeRow(client, "contention a");
            makeRow(client, "contention b");
            long last = 0;
            for (int round = 0; round < 30 && !sawDeadlock(witness); round++) {
                rival.setAutoCommit(false);
                try (Statement statement = rival.createStatement()) {
                    statement.execute(precious());
                }
                lockRow(rival, "contention b");
                OwnerToken owner = client.owner();
                CompletableFuture<AcquireReply> both = client.store.acquire(AcquireRequest.exclusive(
                        List.of(LockName.exactly("contention a"), LockName.exactly("contention b")),
                        owner,
                        "test",
                        LeaseClient.TTL.toNanos(),
                        Duration.ofMinutes(1).toNanos()));
                awaitWaiting(both);
                try {
                    lockRow(rival, "contention a");
                    assertThat(both).as("the rival has both rows").isNotDone();
                } catch (SQLException itWasTheVictim) {
                    assertThat(itWasTheVictim.getSQLState()).startsWith("40");
                }
                rival.rollback();
                AcquireReply.Granted granted = (AcquireReply.Granted) both.get(60, TimeUnit.SECONDS);
                assertThat(granted.grant().tokens().first()).isGreaterThan(last);
                last = granted.grant().tokens().last();
                for (String name : new String[] {"contention a", "contention b"}) {
                    assertThat(client.acquire(name, client.owner()))
                            .as("held: " + name)
                            .isInstanceOf(AcquireReply.Busy.class);
                    assertThat(client.renew(name, owner, LeaseClient.TTL)).isInstanceOf(RenewReply.Renewed.class);
                    client.release(name, owner);
                }
            }
            assertThat(sawDeadlock(witness))
                    .as("our transaction was the victim")
                    .isTrue();
        }
    }

    private static boolean sawDeadlock(SqlWitness witness) {
        return witness.saw("40P01") || witness.saw("40001");
    }
}
