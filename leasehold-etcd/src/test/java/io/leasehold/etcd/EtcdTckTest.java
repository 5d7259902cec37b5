package io.leasehold.etcd;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.ServerUnavailableException;
import io.leasehold.spi.LockRuntime;
import io.leasehold.spi.LockStore;
import io.leasehold.spi.StoreUri;
import io.leasehold.testkit.tck.BackendTck;
import io.leasehold.testkit.tck.StoreFixture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** The backend contract over a real etcd. */
@Tag("full")
class EtcdTckTest implements BackendTck {

    private static EtcdServer server;

    @BeforeAll
    static void start() {
        server = startOrSkip();
    }

    static EtcdServer startOrSkip(String... extraArguments) {
        try {
            return EtcdServer.start(extraArguments);
        } catch (ServerUnavailableException e) {
            return abort(e.getMessage());
        }
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    private static String uri() {
        return "etcd://127.0.0.1:" + server.port() + "/tck";
    }

    @Override
    public StoreFixture fixture() {
        return new StoreFixture() {
            @Override
            public String name() {
                return "etcd";
            }

            @Override
            public LockStore open(LockRuntime runtime) {
                return new EtcdStoreProvider().open(StoreUri.parse(uri()), runtime);
            }

            @Override
            public String uriForOtherProcesses() {
                return uri();
            }

            @Override
            public boolean canRestart() {
                return true;
            }

            @Override
            public void restart() {
                server.kill();
                server.restart();
            }
        };
    }
}
