package io.leasehold.testkit.tck;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.leasehold.Lease;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreProvider;
import io.leasehold.spi.StoreUri;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

/**
 * The backend contract for a dialect of {@code leasehold-jdbc}, over a real database: the test of the dialect's author
 * implements it. The store is opened by the URL, so the dialect must be found by it.
 */
public interface DialectTck extends BackendTck {

    /** The JDBC URL of a database that this test may fill, user and password included. */
    String url();

    @Override
    default StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return StoreUri.parse(url()).rest().split(":", 2)[0];
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                StoreUri uri = StoreUri.parse(url());
                for (StoreProvider provider : ServiceLoader.load(StoreProvider.class)) {
                    if (provider.schemes().contains(uri.scheme())) {
                        return provider.open(uri, runtime);
                    }
                }
                throw new IllegalStateException("leasehold-jdbc is not on the class path: nothing opens " + uri);
            }
        };
    }

    /**
     * A row that a foreign transaction keeps locked affects only its own lock, and only while that transaction lasts.
     */
    @Test
    default void aRowThatIsKeptLockedCostsItsOwnLockAlone(TckBench bench) throws InterruptedException, SQLException {
        bench.client().named(bench.name("locked")).acquire().close();
        try (Connection stranger = DriverManager.getConnection(url())) {
            stranger.setAutoCommit(false);
            try (PreparedStatement keep =
                    stranger.prepareStatement("UPDATE leasehold_lock SET fence = fence WHERE name = ?")) {
                keep.setString(1, bench.name("locked").text());
                assertEquals(1, keep.executeUpdate());
            }
            try (Lease other = bench.client().named(bench.name("free")).tryAcquire(Duration.ofSeconds(20))) {
                assertNotNull(other, "another lock could not be acquired");
            }
            stranger.rollback();
        }
        try (Lease freed = bench.client().named(bench.name("locked")).tryAcquire(Duration.ofSeconds(20))) {
            assertNotNull(freed, "the lock could not be acquired after its row was free");
        }
    }
}
