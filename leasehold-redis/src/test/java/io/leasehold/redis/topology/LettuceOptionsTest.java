package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.spi.StoreUri;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.protocol.ProtocolVersion;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests of the options of Lettuce connections: nothing is sent twice, and no caller waits longer for a server than
 * necessary.
 */
@Tag("quick")
final class LettuceOptionsTest {

    private static void sendsNothingTwice(ClientOptions options) {
        assertThat(options.isAutoReconnect()).isFalse();
        assertThat(options.getDisconnectedBehavior()).isEqualTo(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS);
        assertThat(options.getConfiguredProtocolVersion()).isEqualTo(ProtocolVersion.RESP2);
        assertThat(options.isPingBeforeActivateConnection()).isFalse();
        assertThat(options.getTimeoutOptions().isTimeoutCommands()).isFalse();
    }

    @Test
    void theOptionsOfAStoreUri(@TempDir Path directory) throws IOException {
        ClientOptions options = LettuceDriver.options(RedisUri.parse(StoreUri.parse("redis://a")));
        sendsNothingTwice(options);
        SocketOptions socket = options.getSocketOptions();
        assertThat(socket.getConnectTimeout()).isEqualTo(Duration.ofSeconds(2));
        assertThat(socket.isKeepAlive()).isTrue();
        assertThat(socket.isTcpNoDelay()).isTrue();
        assertThat(options.getSslOptions()).as("those of the platform").isSameAs(ClientOptions.DEFAULT_SSL_OPTIONS);
        Path file = Files.createFile(directory.resolve("ca.pem"));
        assertThat(LettuceDriver.options(RedisUri.parse(StoreUri.parse("rediss://a?ca=" + file)))
                        .getSslOptions())
                .as("those of the file")
                .isNotSameAs(ClientOptions.DEFAULT_SSL_OPTIONS);
    }

    /** The application's own client keeps its options. */
    @Test
    void theOptionsOfABroughtClient() {
        SocketOptions socket =
                SocketOptions.builder().connectTimeout(Duration.ofSeconds(7)).build();
        SslOptions tls = SslOptions.builder().build();
        ClientOptions theirs = ClientOptions.builder()
                .socketOptions(socket)
                .sslOptions(tls)
                .requestQueueSize(77)
                .timeoutOptions(TimeoutOptions.enabled())
                .build();
        ClientOptions ours = LettuceDriver.atMostOnce(theirs);
        sendsNothingTwice(ours);
        assertThat(ours.getSocketOptions().getConnectTimeout()).isEqualTo(Duration.ofSeconds(7));
        assertThat(ours.getSslOptions()).isSameAs(tls);
        assertThat(ours.getRequestQueueSize()).isEqualTo(77);
        assertThat(theirs.isAutoReconnect()).as("theirs stay as they are").isTrue();
    }

    /** The settings of a store URI reach the driver, and the settings of an application's URI stay. */
    @Test
    void theServerAsTheDriverNamesIt() {
        RedisURI plain = LettuceUris.of(
                RedisUri.parse(StoreUri.parse("rediss://app:s3cret@a:7/3")), Duration.ofSeconds(2), null);
        assertThat(plain.getHost()).isEqualTo("a");
        assertThat(plain.getPort()).isEqualTo(7);
        assertThat(plain.getDatabase()).isEqualTo(3);
        assertThat(plain.isSsl()).isTrue();
        assertThat(plain.getTimeout()).isEqualTo(Duration.ofSeconds(2));
        assertThat(plain.getLibraryName()).as("it would need a right").isEmpty();
        RedisURI theirs = RedisURI.Builder.redis("b", 8)
                .withDatabase(5)
                .withSsl(true)
                .withClientName("c")
                .build();
        RedisURI elsewhere =
                LettuceUris.of(LettuceUris.read(theirs, KeyLayout.standard()).at("d", 9), Duration.ofSeconds(2), null);
        assertThat(elsewhere.getHost()).isEqualTo("d");
        assertThat(elsewhere.getPort()).isEqualTo(9);
        assertThat(elsewhere.getDatabase()).isEqualTo(5);
        assertThat(elsewhere.isSsl()).isTrue();
        assertThat(elsewhere.getClientName()).isEqualTo("c");
    }
}
