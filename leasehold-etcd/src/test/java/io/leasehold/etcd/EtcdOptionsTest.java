package io.leasehold.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.etcd.jetcd.Client;
import io.leasehold.Lease;
import io.leasehold.Leasehold;
import io.leasehold.LockClient;
import io.leasehold.LockName;
import io.leasehold.StoreAccessException;
import io.leasehold.StoreUnavailableException;
import io.leasehold.UnsafeStoreException;
import io.leasehold.servers.EtcdServer;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Credentials and the base of the tokens: the accepted values, and one clear error for the rest. */
@Tag("quick")
class EtcdOptionsTest {

    @Test
    void nobodyThereIsSaidSo() {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        assertThatThrownBy(() -> Leasehold.connect("etcd://127.0.0.1:1"))
                .isInstanceOf(StoreUnavailableException.class)
                .hasMessageContaining("etcd://127.0.0.1:1/leasehold");
        long begun = System.nanoTime();
        while (!ofTheDriver(before).isEmpty() && System.nanoTime() - begun < TimeUnit.MINUTES.toNanos(1)) {
            Thread.onSpinWait();
        }
        assertThat(ofTheDriver(before)).as("what was begun has ended").isEmpty();
    }

    /** The threads of the driver that did not exist before. */
    private static List<Thread> ofTheDriver(Set<Thread> before) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().contains("vert.x-eventloop") && !before.contains(thread))
                .toList();
    }

    /** With a server. */
    @Nested
    class OnAServerTest {

        private static EtcdServer server;

        @BeforeAll
        static void start() {
            server = EtcdTckTest.startOrSkip();
        }

        @AfterAll
        static void stop() {
            if (server != null) {
                server.close();
            }
        }

        private String with(String userInfo, String prefix, String options) {
            return "etcd://" + userInfo + "127.0.0.1:" + server.port() + prefix + options;
        }

        @Test
        void aLockThatMovesFromRedisGoesOnAboveItsTokens() throws Exception {
            long fromRedis = 1_800_000_000_000_000L;
            long base = 1_900_000_000_000_000L;
            try (LockClient client = Leasehold.connect(with("", "/moved", "?tokenBase=" + base))) {
                long highest = fromRedis;
                for (int i = 0; i < 3; i++) {
                    try (Lease lease = client.named("moved").acquire()) {
                        assertThat(lease.fencingToken()).isGreaterThan(highest);
                        highest = lease.fencingToken();
                    }
                }
            }
            assertThatThrownBy(() -> Leasehold.connect(with("", "/moved", "")))
                    .isInstanceOf(UnsafeStoreException.class)
                    .hasMessageContaining("tokenBase is 0")
                    .hasMessageContaining("tokenBase=" + base);
        }

        @Test
        void tokensThatWouldNotFitAreRefused() throws Exception {
            try (LockClient client = Leasehold.connect(with("", "/large", "?tokenBase=9007199254740991"))) {
                assertThatThrownBy(() -> client.named("large").acquire())
                        .isInstanceOf(UnsafeStoreException.class)
                        .hasMessageContaining("2^53");
                assertThat(client.admin().inspect(LockName.exactly("large"))).isEmpty();
            }
        }

        @Test
        void credentialsAreCheckedAndRefusalsNameTheUser() throws Exception {
            assertThatThrownBy(() -> Leasehold.connect(with("u:geheim@", "/x", "")))
                    .isInstanceOf(StoreAccessException.class)
                    .hasMessageContaining("leave user and password out")
                    .hasMessageNotContaining("geheim");
            try (EtcdServer guarded = EtcdServer.start()) {
                String address = "127.0.0.1:" + guarded.port();
                enableUsers(address);
                try (LockClient client = Leasehold.connect("etcd://app:geheim@" + address + "/locks");
                        Lease lease = client.named("a").acquire()) {
                    assertThat(lease.isValid()).isTrue();
                }
                assertThatThrownBy(() -> Leasehold.connect("etcd://app:falsch@" + address + "/locks"))
                        .isInstanceOf(StoreAccessException.class)
                        .hasMessageContaining("user \"app\"")
                        .hasMessageNotContaining("falsch");
                assertThatThrownBy(() -> Leasehold.connect("etcd://app:geheim@" + address + "/other"))
                        .isInstanceOf(StoreAccessException.class)
                        .hasMessageContaining("readwrite --prefix=true other");
                assertThatThrownBy(() -> Leasehold.connect("etcd://" + address + "/locks"))
                        .isInstanceOf(StoreAccessException.class)
                        .hasMessageContaining("the anonymous user");
            }
        }

        private void enableUsers(String address) throws Exception {
            try (Client root = Client.builder().endpoints("http://" + address).build()) {
                var auth = root.getAuthClient();
                auth.userAdd(Keys.bytes("root"), Keys.bytes("root")).get();
                auth.roleAdd(Keys.bytes("root")).get();
                auth.userGrantRole(Keys.bytes("root"), Keys.bytes("root")).get();
                auth.userAdd(Keys.bytes("app"), Keys.bytes("geheim")).get();
                auth.roleAdd(Keys.bytes("locks")).get();
                auth.roleGrantPermission(
                                Keys.bytes("locks"),
                                Keys.bytes("locks"),
                                Keys.bytes("lockt"),
                                io.etcd.jetcd.auth.Permission.Type.READWRITE)
                        .get();
                auth.userGrantRole(Keys.bytes("app"), Keys.bytes("locks")).get();
                auth.authEnable().get();
            }
        }
    }
}
