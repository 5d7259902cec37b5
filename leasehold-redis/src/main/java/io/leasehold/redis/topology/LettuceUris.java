package io.leasehold.redis.topology;

import io.leasehold.Credentials;
import io.leasehold.redis.wire.KeyLayout;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Converts between Lettuce's {@link RedisURI} and {@link RedisUri}. */
public final class LettuceUris {

    private LettuceUris() {}

    /**
     * Reads a server in Lettuce's own form.
     *
     * @throws IllegalArgumentException if the URI names no host
     */
    public static RedisUri read(RedisURI given, KeyLayout keys) {
        if (given.getHost() == null || given.getHost().isEmpty()) {
            throw new IllegalArgumentException(
                    "the RedisURI names no host and port: name the server itself, and neither"
                            + " Sentinels nor a socket");
        }
        return RedisUri.given(given, given.getHost(), given.getPort(), given.getDatabase(), given.isSsl(), keys);
    }

    /**
     * Converts a server for the driver.
     *
     * @param handshakeTimeout replaces the timeout of the given URI, which is meant for requests and is a minute by
     *     default: a try at a frozen server would last as long
     * @param login replaces the login of the URI, unless null
     */
    static RedisURI of(RedisUri server, Duration handshakeTimeout, @Nullable Credentials login) {
        if (server.given() instanceof RedisURI given) {
            RedisURI.Builder limited = RedisURI.builder(given)
                    .withHost(server.host())
                    .withPort(server.port())
                    .withTimeout(handshakeTimeout);
            return login == null ? limited.build() : authenticated(limited, login.user(), login.password());
        }
        RedisURI.Builder builder = RedisURI.builder()
                .withHost(server.host())
                .withPort(server.port())
                .withDatabase(server.database())
                .withSsl(server.tls())
                .withTimeout(handshakeTimeout)
                .withLibraryName("")
                .withLibraryVersion("");
        if (login != null) {
            return authenticated(builder, login.user(), login.password());
        }
        char[] password = server.password();
        return password == null ? builder.build() : authenticated(builder, server.user(), password);
    }

    private static RedisURI authenticated(RedisURI.Builder builder, @Nullable String user, char[] password) {
        return (user == null ? builder.withPassword(password) : builder.withAuthentication(user, password)).build();
    }
}
