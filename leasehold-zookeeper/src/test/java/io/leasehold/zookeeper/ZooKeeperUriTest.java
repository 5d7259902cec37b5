package io.leasehold.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.Leasehold;
import io.leasehold.spi.StoreUri;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.apache.zookeeper.client.ZKClientConfig;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The meaning of a URI, and the rule that each wrong one breaks. */
@Tag("quick")
class ZooKeeperUriTest {

    private static ZooKeeperUri parse(String text) {
        return ZooKeeperUri.parse(StoreUri.parse(text));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "zk:h | must be followed by //",
                "zk://h:0 | from 1 to 65535",
                "zk://h,,i | is no host",
                "zk://h/a//b | is no chroot",
                "zk://h/.. | is no chroot",
                "zk://h/a/./b | is no chroot",
                "zk://h/a b | is no chroot",
                "zk://h/zookeeper | belongs to ZooKeeper",
                "zk://h/zookeeper/x | belongs to ZooKeeper",
                "zk://user@h | a user, a colon and a password",
                "zk://us%3Aer:hunter2@h | cannot contain ':'",
                "zk://%3Auser:hunter2@h | cannot contain ':'",
                "zk://h?bogus=1 | unknown option \"bogus\"",
                "zk://h?tls=yes | must be true or false",
                "zk://h?ca=/x | is for TLS",
                "zk://h?caPassword=hunter2 | is for TLS",
                "zk://h?identity=/x | is for TLS",
                "zk://h?identityPassword=hunter2 | is for TLS",
                "zk://h?tls=true&ca=/does/not/exist | no file",
                "zk://h?tokenBase=-1 | whole number",
                "zk://h?tokenBase=9007199254740992 | whole number",
                "zk://h?tickTime=2 | is no duration",
                "zk://h?sessionTimeout=x | is no duration",
                "zk://h?sessionTimeout=1s&sessionTimeout=2s | is given twice",
                "zk://h#x | fragment",
                "zk://u:x?hunter2@h | write ? and # in a password"
            })
    void refusesWithTheRule(String uri, String rule) {
        assertThatThrownBy(() -> parse(uri))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(rule)
                .hasMessageNotContaining("hunter2");
    }

    @Test
    void neverShowsThePassword() {
        ZooKeeperUri uri = parse("zk://me:s%40cret@h1,[::1]:2182/a/b?tokenBase=7");
        assertThat(uri).hasToString("zk://h1:2181,[::1]:2182/a/b");
        assertThat(uri.connectString()).isEqualTo("h1:2181,[::1]:2182");
        assertThat(uri.servers()).containsExactly("h1:2181", "[::1]:2182");
        assertThat(uri.credentials()).isEqualTo("me:s@cret");
        assertThat(uri.user()).isEqualTo("me");
        assertThat(uri.tokens().value()).isEqualTo(7);
        assertThat(uri.chroot()).isEqualTo("/a/b");
    }

    @Test
    void whatIsNotSaidHasADefault() {
        ZooKeeperUri uri = parse("zk://h");
        assertThat(uri.chroot()).isEqualTo("/leasehold");
        assertThat(uri.credentials()).isNull();
        assertThat(uri.user()).isNull();
        assertThat(uri.tokens().value()).isZero();
        assertThat(uri.tickTime()).isEqualTo(Duration.ofSeconds(2));
        assertThat(uri.sessionTimeout()).isNull();
        assertThat(uri.tls()).isFalse();
        assertThat(uri.file("ca")).isNull();
    }

    @Test
    void optionsAreRead(@TempDir Path directory) throws Exception {
        ZooKeeperUri uri = parse("zk://h/zookeepers/..a?tickTime=500ms&sessionTimeout=40s");
        assertThat(uri.tickTime()).isEqualTo(Duration.ofMillis(500));
        assertThat(uri.sessionTimeout()).isEqualTo(Duration.ofSeconds(40));
        assertThat(uri.chroot()).isEqualTo("/zookeepers/..a");
        Path file = Files.createFile(directory.resolve("file.p12"));
        ZooKeeperUri tls = parse("zk://h?tls=true&ca=" + file + "&caPassword=one&identity=" + file);
        assertThat(tls.tls()).isTrue();
        assertThat(tls.file("ca")).isEqualTo(file);
        assertThat(tls.passwordOf("ca")).isEqualTo("one");
        assertThat(tls.file("identity")).isEqualTo(file);
        assertThat(tls.passwordOf("identity")).isNull();
    }

    @Test
    void eachFileOfTlsReachesTheDriverWithItsOwnPassword(@TempDir Path directory) throws Exception {
        Path ca = Files.createFile(directory.resolve("ca.p12"));
        Path identity = Files.createFile(directory.resolve("identity.p12"));
        ZKClientConfig both = Driver.config(
                parse("zk://h?tls=true&ca=" + ca + "&caPassword=one&identity=" + identity + "&identityPassword=two"));
        assertThat(both.getProperty("zookeeper.client.secure")).isEqualTo("true");
        assertThat(both.getProperty("zookeeper.ssl.trustStore.location")).isEqualTo(ca.toString());
        assertThat(both.getProperty("zookeeper.ssl.trustStore.password")).isEqualTo("one");
        assertThat(both.getProperty("zookeeper.ssl.keyStore.location")).isEqualTo(identity.toString());
        assertThat(both.getProperty("zookeeper.ssl.keyStore.password")).isEqualTo("two");
        ZKClientConfig one = Driver.config(parse("zk://h?tls=true&identity=" + identity));
        assertThat(one.getProperty("zookeeper.ssl.trustStore.location")).isNull();
        assertThat(one.getProperty("zookeeper.ssl.keyStore.location")).isEqualTo(identity.toString());
        assertThat(one.getProperty("zookeeper.ssl.keyStore.password")).isNull();
        assertThat(Driver.config(parse("zk://h")).getProperty("zookeeper.client.secure"))
                .isNull();
    }

    /** The process may have a log-in file for another user of the driver. */
    @Test
    void noLogInOfTheProcessIsUsed() {
        assertThat(Driver.config(parse("zk://h")).isSaslClientEnabled()).isFalse();
    }

    /** A process whose own limit is larger keeps it. */
    @Test
    void anAnswerMayBeAsLongAsTheLargerOfTwoLimits() {
        assertThat(Driver.config(parse("zk://h")).getProperty("jute.maxbuffer")).isEqualTo("67108864");
        System.setProperty("jute.maxbuffer", "100000000");
        try {
            assertThat(Driver.config(parse("zk://h")).getProperty("jute.maxbuffer"))
                    .isEqualTo("100000000");
        } finally {
            System.clearProperty("jute.maxbuffer");
        }
    }

    /**
     * Another user of the driver may set it for the whole process. A waiter would then miss events across a
     * reconnection.
     */
    @Test
    void watchesAreSetAgainOverAReconnection() {
        System.setProperty(ZKClientConfig.DISABLE_AUTO_WATCH_RESET, "true");
        try {
            assertThat(Driver.config(parse("zk://h")).getBoolean(ZKClientConfig.DISABLE_AUTO_WATCH_RESET))
                    .isFalse();
        } finally {
            System.clearProperty(ZKClientConfig.DISABLE_AUTO_WATCH_RESET);
        }
    }

    /** Otherwise the client would start, and refuse every lock. */
    @Test
    void alsoALazyClientReportsIt() {
        for (String wrong : List.of("zk://h?tsl=true", "zk://h:port")) {
            assertThatThrownBy(() -> Leasehold.builder().store(wrong).connectLazily())
                    .as(wrong)
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> Leasehold.builder()
                        .store("zk://h")
                        .credentials(() -> {
                            throw new AssertionError("no store is opened");
                        })
                        .connectLazily())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("credentials");
    }
}
