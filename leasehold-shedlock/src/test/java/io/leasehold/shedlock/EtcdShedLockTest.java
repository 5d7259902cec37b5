package io.leasehold.shedlock;

import static org.junit.jupiter.api.Assumptions.abort;

import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.servers.EtcdServer;
import io.leasehold.servers.ServerUnavailableException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

@Tag("full")
class EtcdShedLockTest extends LongTtlShedLockTest {

    private static EtcdServer server;

    @BeforeAll
    static void start() {
        try {
            server = EtcdServer.start();
        } catch (ServerUnavailableException e) {
            abort(e.getMessage());
        }
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @Override
    LockClient connect() {
        return Leasehold.connect("etcd://127.0.0.1:" + server.port() + "/shedlock");
    }
}
