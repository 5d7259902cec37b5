package io.leasehold.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.Lease;
import io.leasehold.LockClient;
import io.leasehold.servers.RedisServer;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisCredentialsProvider;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SslVerifyMode;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.h2.jdbcx.JdbcDataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConfiguration;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.RedisSocketConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.RedisStaticMasterReplicaConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.RedisCredentialsProviderFactory;

/** Tests of locks at the Redis of the application. */
@Tag("quick")
class RedisOfApplicationTest {

    private static final String PASSWORD = "secret of the test";

    private final ApplicationContextRunner application =
            new ApplicationContextRunner().withConfiguration(AutoConfigurations.of(LeaseholdAutoConfiguration.class));

    @Test
    void itsConnectionFactoryIsThePlaceForLocks() throws Exception {
        try (RedisServer redis = RedisServer.builder().password(PASSWORD).start()) {
            ApplicationContextRunner withRedis = application.withBean(LettuceConnectionFactory.class, () -> {
                RedisStandaloneConfiguration server = new RedisStandaloneConfiguration("localhost", redis.port());
                server.setPassword(PASSWORD);
                server.setDatabase(3);
                return new LettuceConnectionFactory(server);
            });
            withRedis.run(context -> {
                try (Lease lease = context.getBean(LockClient.class).named("x").acquire()) {
                    assertThat(context.getBean(LettuceConnectionFactory.class)
                                    .getConnection()
                                    .keyCommands()
                                    .exists("lock:{x}".getBytes(StandardCharsets.UTF_8)))
                            .isTrue();
                }
            });
            ApplicationContextRunner withBoth = withRedis.withBean("orders", DataSource.class, JdbcDataSource::new);
            withBoth.run(context -> assertThat(new NoLockStoreFailureAnalyzer()
                            .analyze(context.getStartupFailure())
                            .getDescription())
                    .startsWith("Locks could be kept at each of [orders, ")
                    .endsWith(", and no property selects one."));
            withBoth.withPropertyValues("leasehold.redis.reuse-connection-factory=true")
                    .run(context -> assertThat(context.getBean(LockClient.class).storeDescription())
                            .contains("redis"));
        }
    }

    /** The factory's accessor for the configuration of a single server returns an unused default then. */
    @Test
    void aSingleServerThatIsConfiguredAsAnyKindIsThePlaceForLocks() throws Exception {
        try (RedisServer redis = RedisServer.builder().start()) {
            RedisConfiguration server = new RedisStandaloneConfiguration("localhost", redis.port());
            application
                    .withBean(LettuceConnectionFactory.class, () -> new LettuceConnectionFactory(server))
                    .run(context -> {
                        try (Lease lease =
                                context.getBean(LockClient.class).named("x").acquire()) {
                            assertThat(context.getBean(LettuceConnectionFactory.class)
                                            .getConnection()
                                            .keyCommands()
                                            .exists("lock:{x}".getBytes(StandardCharsets.UTF_8)))
                                    .isTrue();
                        }
                    });
        }
    }

    /** {@code spring.data.redis.username=${REDIS_USER:}} gives an empty name. */
    @Test
    void anEmptyUserNameMeansNone() throws Exception {
        try (RedisServer redis = RedisServer.builder().password(PASSWORD).start()) {
            RedisStandaloneConfiguration server = new RedisStandaloneConfiguration("localhost", redis.port());
            server.setUsername("");
            server.setPassword(PASSWORD);
            grants(new LettuceConnectionFactory(server));
        }
    }

    /** Cloud providers replace passwords by tokens that such a provider fetches. */
    @Test
    void theCredentialsProviderOfTheFactoryLogsIn() throws Exception {
        try (RedisServer redis = RedisServer.builder().password(PASSWORD).start()) {
            RedisCredentialsProviderFactory provider = new RedisCredentialsProviderFactory() {
                @Override
                public RedisCredentialsProvider createCredentialsProvider(RedisConfiguration configuration) {
                    return RedisCredentialsProvider.from(() -> RedisCredentials.just(null, PASSWORD));
                }
            };
            grants(new LettuceConnectionFactory(
                    new RedisStandaloneConfiguration("localhost", redis.port()),
                    LettuceClientConfiguration.builder()
                            .redisCredentialsProviderFactory(provider)
                            .build()));
        }
    }

    private void grants(LettuceConnectionFactory factory) {
        application.withBean(LettuceConnectionFactory.class, () -> factory).run(context -> {
            assertThat(context).hasNotFailed();
            try (Lease lease = context.getBean(LockClient.class).named("x").acquire()) {
                assertThat(lease.isValid()).isTrue();
            }
        });
    }

    @Test
    void tlsIsThatOfTheFactory() {
        RedisStandaloneConfiguration server = new RedisStandaloneConfiguration("redis.example", 6380);
        LettuceClientConfiguration unverified = LettuceClientConfiguration.builder()
                .useSsl()
                .disablePeerVerification()
                .startTls()
                .build();
        RedisURI uri = LettuceStore.uri(new LettuceConnectionFactory(server, unverified), server);
        assertThat(uri.isSsl()).isTrue();
        assertThat(uri.isStartTls()).isTrue();
        assertThat(uri.getVerifyMode()).isEqualTo(SslVerifyMode.NONE);
        RedisURI verified = LettuceStore.uri(
                new LettuceConnectionFactory(
                        server, LettuceClientConfiguration.builder().useSsl().build()),
                server);
        assertThat(verified.isStartTls()).isFalse();
        assertThat(verified.getVerifyMode()).isEqualTo(SslVerifyMode.FULL);
    }

    static Stream<RedisConfiguration> aFactoryOfAnotherKindIsRefused() {
        return Stream.of(
                new RedisStaticMasterReplicaConfiguration("redis.example", 6379),
                new RedisSocketConfiguration("/run/redis.sock"),
                new RedisSentinelConfiguration("master", Set.of("redis.example:26379")),
                new RedisClusterConfiguration(Set.of("redis.example:6379")));
    }

    /** Otherwise the locks would be kept at localhost:6379. */
    @ParameterizedTest
    @MethodSource
    void aFactoryOfAnotherKindIsRefused(RedisConfiguration configuration) {
        application
                .withBean(LettuceConnectionFactory.class, () -> new LettuceConnectionFactory(configuration))
                .run(context -> assertThat(new NoLockStoreFailureAnalyzer()
                                .analyze(context.getStartupFailure())
                                .getDescription())
                        .startsWith("The LettuceConnectionFactory is not configured for a single server"));
    }
}
