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

/** Other transactions in the way, at a real server: rows that stay locked, deadlocks. */
@Timeout(180)
interface ContentionTests {

    /** A connection of an administrator, who does not use Leasehold. */
    Connection administrator() throws SQLException;

    /** The URL for a client whose deadlocks the database detects at once. */
    String urlOfVictim();

    /** The dialect. */
    SqlDialect dialect();

    /** Opens a store whose errors are observed. */
    default LeaseClient open(SqlWitness witness) {
        return LeaseClient.open(runtime -> JdbcStores.over(witness.over(urlOfVictim()), dialect(), runtime));
    }

    /** Creates the row, which is free. */
    static void makeRow(LeaseClient client, String name) {
        OwnerToken owner = client.owner();
        client.granted(name, owner);
        client.release(name, owner);
    }

    static void lockRow(Connection connection, String name) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement
                    .executeQuery("SELECT fence FROM leasehold_lock WHERE name = '" + name + "' FOR UPDATE")
                    .close();
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
            LockSupport.parkNanos(300_000_000);
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
}
