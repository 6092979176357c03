// Writes an SVG document element by element.
#pragma once

#include <string>
#include <string_view>

namespace lastcall::demo {

// A number as coordinates have it: "12.5".
[[nodiscard]] std::string coordinate(double value);

class Svg {
 public:
  // `style`: CSS.
  Svg(double width, double height, std::string_view title, std::string_view description,
      std::string_view style);

  // `css_class` is one of the style's; texts are escaped.
  void rect(double x, double y, double width, double height, std::string_view css_class,
            std::string_view tooltip = {});
  void line(double x1, double y1, double x2, double y2, std::string_view css_class);
  // A triangle that points down at (x, y).
  void pointer(double x, double y, double size, std::string_view css_class,
               std::string_view tooltip = {});
  void text(double x, double y, std::string_view css_class, std::string_view text);

  // The document; nothing may be added afterwards.
  [[nodiscard]] std::string finish();

 private:
  void shape(const std::string& element, std::string_view css_class, std::string_view tooltip);

  std::string out_;
};

}  // namespace lastcall::demo
