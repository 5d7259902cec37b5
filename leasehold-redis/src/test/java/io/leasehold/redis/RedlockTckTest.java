package io.leasehold.redis;

import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.StoreFixture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;

/** Tests that three real servers pass the TCK as a set, across processes too. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("full")
final class RedlockTckTest implements BackendTck {

    private RedlockServers servers;

    @BeforeAll
    void start() {
        servers = RedlockServers.start(3, "60m");
        servers.declareNew();
    }

    @AfterAll
    void stop() {
        servers.close();
    }

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "redlock";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return new RedlockStoreProvider().open(StoreUri.parse(servers.uri()), runtime);
            }

            @Override
            public String uriForOtherProcesses() {
                return servers.uri();
            }
        };
    }
}
