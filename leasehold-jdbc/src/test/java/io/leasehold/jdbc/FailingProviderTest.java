package io.leasehold.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Credentials;
import io.leasehold.CredentialsProvider;
import io.leasehold.Leasehold;
import io.leasehold.LockName;
import io.leasehold.StoreUnavailableException;
import io.leasehold.engine.SystemLockRuntime;
import io.leasehold.spi.AcquireReply;
import io.leasehold.spi.AcquireRequest;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.OwnerToken;
import io.leasehold.spi.StoreUri;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The messages for callers when the credentials provider has none for a connection to a database. */
@Tag("quick")
@Timeout(120)
class FailingProviderTest {

    private final String uri = "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    private volatile boolean fails;

    private final CredentialsProvider provider = () -> {
        if (fails) {
            throw new IOException("the vault is sealed");
        }
        return Credentials.of("sa", "s3cret");
    };

    @Test
    void atTheOpeningTheStoreIsUnavailable() {
        fails = true;
        assertThatThrownBy(() ->
                        Leasehold.builder().store(uri).credentials(provider).connect())
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("credentials provider")
                .hasMessageNotContaining("sealed")
                .hasRootCauseInstanceOf(IOException.class);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:mysql://joe:pssst@db:3306/app",
                "jdbc:mysql://address=(host=db)(user=joe)(password=pssst)/app",
                "jdbc:mysql://(host=db,user=joe,password=pssst)/app",
                "jdbc:mariadb://db/app?user=joe&password=pssst",
                "jdbc:h2:tcp://db/app;USER=joe;PASSWORD=pssst",
                "jdbc:oracle:thin:joe/pssst@//db:1521/app",
                "jdbc:sqlserver://db;user=joe;password={ps;pssst}",
                "jdbc:db2://db:50000/app:user=joe;password=pssst;"
            })
    void aUrlThatNamesALoginIsRefusedBesideAProvider(String url) {
        SystemLockRuntime runtime = new SystemLockRuntime();
        try {
            assertThatThrownBy(() -> new JdbcStoreProvider().open(StoreUri.parse(url), provider, runtime))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("use only one of them")
                    .hasMessageNotContaining("pssst");
        } finally {
            runtime.close();
        }
    }

    @Test
    void aPathOfH2IsNoLogin() throws Exception {
        SystemLockRuntime runtime = new SystemLockRuntime();
        String path = "jdbc:h2:mem:a/b@" + UUID.randomUUID();
        try (LockStore store = new JdbcStoreProvider().open(StoreUri.parse(path), provider, runtime)) {
            assertThat(store.description()).startsWith("jdbc:");
        } finally {
            runtime.close();
        }
    }

    @Test
    void aRequestThatNeedsANewConnectionHasHadNoEffect() throws Exception {
        SystemLockRuntime runtime = new SystemLockRuntime();
        try (LockStore store = new JdbcStoreProvider().open(StoreUri.parse(uri), provider, runtime)) {
            try (Connection other = DriverManager.getConnection(uri, "sa", "s3cret");
                    Statement statement = other.createStatement()) {
                fails = true;
                statement.execute("SHUTDOWN");
            }
            AcquireRequest request = AcquireRequest.exclusive(
                    List.of(LockName.exactly("order:1")),
                    OwnerToken.draw(runtime),
                    "holder",
                    60_000_000_000L,
                    30_000_000_000L);
            AcquireReply reply = store.acquire(request).get(60, TimeUnit.SECONDS);
            assertThat(reply).isInstanceOfSatisfying(AcquireReply.Failed.class, failed -> {
                assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
                assertThat(failed.error())
                        .isInstanceOf(StoreUnavailableException.class)
                        .hasMessageContaining("credentials provider")
                        .hasRootCauseInstanceOf(IOException.class);
            });
        } finally {
            runtime.close();
        }
    }
}
