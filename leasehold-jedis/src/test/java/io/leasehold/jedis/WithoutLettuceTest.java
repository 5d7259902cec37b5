package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.servers.RedisServer;
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Locks over Jedis work if neither Lettuce nor its dependencies are on the class path. */
@Tag("quick")
final class WithoutLettuceTest {

    private static final List<String> NOT_THERE =
            List.of("/io/lettuce/", "/io/netty/", "/io/projectreactor/", "/org/reactivestreams/");

    @Test
    void nothingOfLettuceIsLinked() throws Exception {
        try (RedisServer server = Servers.one();
                URLClassLoader alone =
                        new URLClassLoader(classPath().toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            assertThatThrownBy(() -> alone.loadClass("io.lettuce.core.RedisClient"))
                    .isInstanceOf(ClassNotFoundException.class);
            Object happened = alone.loadClass(WithoutLettuceMain.class.getName())
                    .getMethod("run", int.class)
                    .invoke(null, server.port());
            assertThat(happened)
                    .asString()
                    .startsWith("listed 1, handed over true, ")
                    .contains("redis:// needs Lettuce", "redlock: needs Lettuce")
                    .contains("JedisStore");
        }
    }

    private static List<URL> classPath() throws Exception {
        List<URL> found = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            if (NOT_THERE.stream().noneMatch(entry::contains)) {
                found.add(Path.of(entry).toUri().toURL());
            }
        }
        return found;
    }
}
