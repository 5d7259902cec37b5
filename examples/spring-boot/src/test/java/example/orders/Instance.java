package example.orders;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** One instance of the application, in a separate process. */
final class Instance implements AutoCloseable {

    private static final Pattern STARTED = Pattern.compile("Tomcat started on port (\\d+)");
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    private final HttpClient http = HttpClient.newHttpClient();
    private final Process process;
    private final Path log;
    private final int port;

    private Instance(Process process, Path log) throws IOException, InterruptedException {
        this.process = process;
        this.log = log;
        this.port = startedOn();
    }

    static Instance start(String name, String url, Path directory) throws IOException, InterruptedException {
        Path log = Files.createTempFile(directory, name, ".log");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Dspring.aot.enabled=" + Boolean.getBoolean("example.aot"),
                "-cp",
                System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                OrdersApplication.class.getName(),
                "--server.port=0",
                "--spring.datasource.url=" + url,
                "--spring.datasource.username=postgres",
                "--leasehold.defaults.ttl=3s",
                "--settlement.instance=" + name,
                "--settlement.pause=50ms",
                "--settlement.takes=300ms"));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        try {
            return new Instance(process, log);
        } catch (IOException | InterruptedException | RuntimeException | Error e) {
            process.destroyForcibly();
            throw e;
        }
    }

    private int startedOn() throws IOException, InterruptedException {
        long began = System.nanoTime();
        while (System.nanoTime() - began < PATIENCE.toNanos()) {
            Matcher started = STARTED.matcher(Files.readString(log));
            if (started.find()) {
                return Integer.parseInt(started.group(1));
            }
            if (process.waitFor(50, TimeUnit.MILLISECONDS)) {
                break;
            }
        }
        throw new AssertionError("the instance has not started:\n" + Files.readString(log));
    }

    String get(String path) throws IOException, InterruptedException {
        return answer(request(path).GET());
    }

    String post(String path) throws IOException, InterruptedException {
        return answer(request(path).POST(HttpRequest.BodyPublishers.noBody()));
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(PATIENCE);
    }

    private String answer(HttpRequest.Builder request) throws IOException, InterruptedException {
        HttpResponse<String> response = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IOException(response.uri() + " answered " + response.statusCode() + ": " + response.body() + "\n"
                    + Files.readString(log));
        }
        return response.body();
    }

    /** Ends it like a failing machine: nothing is released. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** Ends it in order: it finishes its work and releases its locks. */
    @Override
    public void close() throws InterruptedException, IOException {
        process.destroy();
        if (!process.waitFor(1, TimeUnit.MINUTES)) {
            process.destroyForcibly();
            throw new AssertionError("the instance has not ended:\n" + Files.readString(log));
        }
    }
}
