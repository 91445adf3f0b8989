import java.io.FileInputStream;
import java.io.InputStreamReader;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Properties;

/** Reads files of java.util.Properties, in both charsets that are in use; prints each as a JSON object of base64 strings. */
class ReadProperties {
  public static void main(String[] paths) throws Exception {
    for (String path : paths) {
      Properties read = load(path, StandardCharsets.ISO_8859_1);
      if (!read.equals(load(path, StandardCharsets.UTF_8))) throw new IllegalStateException("the charsets differ");
      StringBuilder line = new StringBuilder("{");
      for (String name : read.stringPropertyNames()) {
        byte[] value = read.getProperty(name).getBytes(StandardCharsets.UTF_8);
        line.append(line.length() > 1 ? "," : "").append('"').append(name).append("\":\"");
        line.append(Base64.getEncoder().encodeToString(value)).append('"');
      }
      System.out.println(line.append('}'));
    }
  }

  private static Properties load(String path, Charset charset) throws Exception {
    Properties read = new Properties();
    try (InputStreamReader reader = new InputStreamReader(new FileInputStream(path), charset)) {
      read.load(reader);
    }
    return read;
  }
}
